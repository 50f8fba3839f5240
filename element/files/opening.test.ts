// How an image is opened: companions, files for names, and passwords.

import type { Layer, Snapshot } from 'decant';
import { expect, test } from 'vitest';
import { infoOf } from '../../worker/api/info.test-support.js';
import { fileHandle, inputNamed } from '../element.test-support.js';
import {
  type Answer,
  beginOpening,
  imageFiles,
  nameForOutput,
  type Opening,
  openingOptions,
  sourcesOf,
} from './opening.js';

const { signal } = new AbortController();
const [top, base, data] = [inputNamed('top.qcow2'), inputNamed('base.qcow2'), inputNamed('data.raw')];
const begun = () => beginOpening({ top, companions: [base, data], called: [] });
const answer = (input = base): Answer => ({
  need: { kind: 'missing-file', role: 'backing file', name: '/images/base', fileName: 'base', of: 'top.qcow2' },
  input,
  confirmed: false,
});

test('files are companions under their own names', async () => {
  expect(await openingOptions(begun(), signal)).toEqual({ companions: [base.file, data.file] });
  expect(sourcesOf(begun())).toEqual([top, base, data]);
});

test('a file is a companion under the name of the disk as which it is used', async () => {
  const opening = { ...begun(), companions: [{ ...base, as: 'system.vmdk' }, data] };
  const companions = [{ name: 'system.vmdk', source: base.file }, data.file];
  expect(await openingOptions(opening, signal)).toEqual({ companions });
});

test('a file that is given for a name is not also a companion under its own name', async () => {
  const opening = { ...begun(), answers: [answer()] };
  expect(await openingOptions(opening, signal)).toEqual({
    companions: [data.file, { name: '/images/base', source: base.file }],
  });
  const handle = fileHandle(base.file);
  const handled = { ...begun(), companions: [{ ...base, handle }], answers: [answer({ ...base, handle })] };
  expect(await openingOptions(handled, signal)).toEqual({ companions: [{ name: '/images/base', source: handle }] });
  expect(sourcesOf(opening)).toEqual([top, base, data, base]);
});

test('the options contain the decisions of the person and nothing else', async () => {
  const opening = {
    ...begun(),
    companions: [],
    inputFormat: 'raw',
    snapshot: '1',
    salvage: true,
    assumePassword: true,
  };
  opening.passwords.give('top.qcow2', 'secret');
  const { password, ...options } = await openingOptions(opening, signal);
  expect(options).toEqual({ companions: [], inputFormat: 'raw', snapshot: '1', salvage: true, assumePassword: true });
  expect((password as (layer: Layer) => unknown)({ name: 'top.qcow2' } as Layer)).toBe('secret');
});

test('a chosen disk of an archive is opened, and names the image and the output', async () => {
  const bundle = { top: inputNamed('vm.ova'), companions: [base], called: [], disk: { number: 2, name: 'data.vmdk' } };
  const options = await openingOptions(beginOpening(bundle), signal);
  expect(options).toEqual({ companions: [base.file], disk: 2, name: 'vm.ova: data.vmdk' });
  const info = infoOf({
    snapshots: [
      { id: '1', name: 'then' },
      { id: '2', name: '' },
    ] as Snapshot[],
  });
  const of = (opening: Opening, snapshot?: string) =>
    nameForOutput(snapshot ? { ...opening, snapshot } : opening, info);
  expect(of(beginOpening(bundle))).toBe('vm-disk2');
  expect(of(beginOpening(bundle), '1')).toBe('vm-disk2-then');
  expect(of(begun())).toBe('top.qcow2');
  expect(of(begun(), '1')).toBe('top-then');
  expect(of(begun(), '2')).toBe('top-2');
});

test('the extents of an image count as parts of it, its parent does not', () => {
  const opening = beginOpening({
    top: inputNamed('disk.vmdk', 'x'.repeat(512)),
    companions: [inputNamed('disk-f001.vmdk', '12345'), inputNamed('base.vmdk', '123')],
    called: [],
  });
  const references = [
    { role: 'extent', name: 'C:\\vm\\disk-f001.vmdk', fileName: 'disk-f001.vmdk' },
    { role: 'extent', name: 'disk-f002.vmdk', fileName: 'disk-f002.vmdk' },
    { role: 'parent', name: 'base.vmdk', fileName: 'base.vmdk' },
  ] as const;
  const info = infoOf({ fileSize: 512, references: [...references] });
  expect(imageFiles(info, opening)).toEqual([517, 2]);
  const need = {
    kind: 'missing-file',
    role: 'extent',
    name: 'disk-f002.vmdk',
    fileName: 'disk-f002.vmdk',
    of: 'disk.vmdk',
  } as const;
  const answers = [{ need, input: inputNamed('other.vmdk', '1234'), confirmed: true }];
  expect(imageFiles(info, { ...opening, answers })).toEqual([521, 3]);
  expect(imageFiles(infoOf({ fileSize: 9 }), undefined)).toEqual([9, 1]);
});
