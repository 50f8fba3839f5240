// The files and the password that an image needs.

import { DecantError, type DiskImage } from 'decant';
import { expect, test, vi } from 'vitest';
import { layerOf } from '../../worker/api/info.test-support.js';
import { imageOf, images, inputNamed, openImage, soon } from '../element.test-support.js';
import { english } from '../texts/english/index.js';
import { imageCalled, input, needing, news, rows, session, step } from './session.test-support.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
}));

test('a missing file is matched by its name, and other images wait', async () => {
  needing('top.qcow2', 'base.qcow2');
  for (const name of ['base.qcow2', 'other.qcow2']) images.set(name, imageCalled(name));
  session.take(input('top.qcow2'));
  expect((await step('needs')).needs).toHaveLength(1);
  expect(session.asksForFile).toBe(true);
  session.take(input('other.qcow2', 'base.qcow2', 'notes'));
  await step('ready');
  await soon(() => expect(rows()).toEqual(['top.qcow2 current', 'other.qcow2 waiting']));
  expect(session.news).toBe(`${english.queued.added(['other.qcow2'])} ${english.aside(['notes'])}`);
});

test('files with other names are reported, and a single one is offered', async () => {
  needing('top.qcow2', 'base.qcow2');
  images.set('other.qcow2', imageCalled('other.qcow2'));
  session.take(input('top.qcow2'));
  await step('needs');
  session.take(input('notes', 'paper'));
  await soon(() => expect(session.state).toMatchObject({ notice: english.notTheFile(['notes', 'paper']) }));
  expect(session.state).toMatchObject({ step: 'needs', offered: undefined });
  const other = inputNamed('other.qcow2');
  session.take([other]);
  await soon(() => expect(session.state).toMatchObject({ offered: other }));
  expect(session.state).toMatchObject({ notice: english.notTheFile(['other.qcow2']) });
});

test('a disk that is asked for by its ID: no other one is offered, and a deeper one is a new question', async () => {
  const ids = ['aaaaaaaa-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000002'] as const;
  images.set('top.vdi', ({ companions = [] }) => {
    const names = companions.map((one) => (one as File).name);
    const have = ['one.vdi', 'two.vdi'].filter((name) => names.includes(name));
    const name = ids[have.length];
    const need = { kind: 'missing-file', role: 'parent', of: 'top.vdi' } as const;
    return imageOf({ name: 'top.vdi', needs: name ? [{ ...need, name, fileName: name }] : [] });
  });
  for (const name of ['one.vdi', 'two.vdi', 'other.vdi']) images.set(name, imageCalled(name));
  session.take(input('top.vdi'));
  await step('needs');
  session.take(input('other.vdi'));
  await soon(() => expect(session.state).toMatchObject({ notice: english.notTheDisk(['other.vdi']) }));
  expect(session.state).toMatchObject({ step: 'needs', offered: undefined });
  session.take(input('one.vdi'));
  await soon(() => expect(session.state).toMatchObject({ needs: [{ name: ids[1] }], notice: undefined }));
  session.take(input('two.vdi'));
  await step('ready');
});

test('a file that may be wrong is in doubt until the person confirms or removes it', async () => {
  needing('top.qcow2', 'base.qcow2');
  images.set('other.qcow2', imageCalled('other.qcow2'));
  session.take(input('top.qcow2'));
  const [need] = (await step('needs')).needs;
  if (need?.kind !== 'missing-file') throw new Error('no file is missing');
  const other = inputNamed('other.qcow2');
  session.answer(need, other);
  const doubt = { need, input: other, reasons: [english.otherName('other.qcow2', 'base.qcow2')] };
  await soon(() => expect(session.state).toMatchObject({ step: 'needs', doubt }));
  session.takeBack(need);
  await soon(() => expect(session.state).toMatchObject({ step: 'needs', doubt: undefined }));
  session.answer(need, other, true);
  await step('ready');
});

test('the right file replaces one that is in doubt', async () => {
  needing('top.qcow2', 'base.qcow2');
  for (const name of ['base.qcow2', 'other.qcow2']) images.set(name, imageCalled(name));
  session.take(input('top.qcow2'));
  const [need] = (await step('needs')).needs;
  if (need?.kind !== 'missing-file') throw new Error('no file is missing');
  session.answer(need, inputNamed('other.qcow2'));
  await soon(() => expect(session.state).toMatchObject({ step: 'needs', doubt: { need } }));
  session.take(input('base.qcow2'));
  const { image } = await step('ready');
  expect(image.info.layers.map(({ name }) => name)).toEqual(['top.qcow2', 'base.qcow2']);
});

test('files that are given again, with a missing one, count once', async () => {
  needing('top.qcow2', 'base.qcow2');
  for (const name of ['base.qcow2', 'other.qcow2']) images.set(name, imageCalled(name));
  session.take(input('top.qcow2'));
  await step('needs');
  session.take(input('other.qcow2', 'notes'));
  await soon(() => expect(session.state).toMatchObject({ notice: english.notTheFile(['other.qcow2', 'notes']) }));
  session.take(input('top.qcow2', 'base.qcow2', 'other.qcow2'));
  await step('ready');
  await soon(() => expect(rows()).toEqual(['top.qcow2 current', 'other.qcow2 waiting']));
});

test('after a failure of a companion, the image can ask for its files again', async () => {
  needing('top.qcow2', 'base.qcow2');
  images.set('base.qcow2', imageCalled('base.qcow2'));
  const open = images.get('top.qcow2') as (options: object) => DiskImage;
  images.set('top.qcow2', ({ companions = [] }) =>
    companions.length > 0
      ? new DecantError('not-recognised', "In 'base.qcow2': The file is not a qcow2 image")
      : open({ companions }),
  );
  session.take(input('top.qcow2', 'base.qcow2'));
  expect((await step('failed')).remedies).toEqual(['filesAgain']);
  session.takeRemedy('filesAgain');
  expect((await step('needs')).needs).toHaveLength(1);
});

test('after an impossible file, the question is asked again with the reason', async () => {
  needing('top.qcow2', 'base.qcow2');
  const open = images.get('top.qcow2') as (options: object) => DiskImage;
  images.set('top.qcow2', (options) =>
    options.companions?.some((one) => typeof one === 'object' && 'source' in one)
      ? new DecantError('not-recognised', "In 'paper.pdf': The file is not a qcow2 image")
      : open(options),
  );
  session.take(input('top.qcow2'));
  const [need] = (await step('needs')).needs;
  if (need?.kind !== 'missing-file') throw new Error('no file is missing');
  session.answer(need, inputNamed('paper.pdf'));
  const notice = "In 'paper.pdf': The file is not a qcow2 image.";
  await soon(() => expect(session.state).toMatchObject({ step: 'needs', notice, needs: [need] }));
});

test('after a wrong password, the password is asked for again', async () => {
  const locked = layerOf('disk.qcow2', { encryption: 'luks' });
  images.set('disk.qcow2', ({ password }) =>
    imageOf(
      { layers: [locked], needs: [{ kind: 'password', of: 'disk.qcow2' }] },
      {
        unlock: async () => {
          const input = await (password as (layer: typeof locked) => Promise<string>)(locked);
          if (input !== 'right') throw new DecantError('password', 'The password is wrong');
        },
      },
    ),
  );
  session.take(input('disk.qcow2'));
  expect(await step('needs')).toMatchObject({ needs: [{ kind: 'password' }], notice: undefined, canAssume: false });
  session.unlock('disk.qcow2', 'wrong', false);
  await soon(() => expect(session.state).toMatchObject({ step: 'needs', notice: 'The password is wrong.' }));
  session.unlock('disk.qcow2', 'right', false);
  await step('ready');
});

test('files that are given during the question for a password wait', async () => {
  const locked = layerOf('disk.qcow2', { encryption: 'luks' });
  images.set('disk.qcow2', imageOf({ layers: [locked], needs: [{ kind: 'password', of: 'disk.qcow2' }] }));
  images.set('b.qcow2', imageCalled('b.qcow2'));
  session.take(input('disk.qcow2'));
  await step('needs');
  session.take(input('b.qcow2'));
  await news(english.queued.added(['b.qcow2']));
  expect(session.state.step).toBe('needs');
});

test('a packed image is unpacked after a question, the next one without', async () => {
  const packed = new DecantError('unsupported', 'Unpack it', { code: 'needs-spool', fields: { format: 'qcow2' } });
  const asked: (boolean | undefined)[] = [];
  for (const name of ['a.xz', 'b.xz']) {
    images.set(name, ({ spool }) => {
      asked.push(spool as boolean | undefined);
      return spool ? imageCalled(name) : packed;
    });
  }
  session.take(input('a.xz', 'b.xz'));
  expect(await step('packed')).toMatchObject({ name: 'a.xz', format: 'qcow2' });
  expect(session.asksForFile).toBe(false);
  session.unpack();
  await step('ready');
  session.openNext();
  await soon(() => expect(rows()).toEqual(['a.xz waiting', 'b.xz current']));
  await step('ready');
  expect(asked.filter(Boolean)).toHaveLength(2);
});

test('an image that takes much memory to decode is opened after a question', async () => {
  const noticed = (mib: number) =>
    imageOf({ safety: [{ code: 'large-window', fields: { size: mib << 20 }, message: 'It is large' }] });
  images.set('a.zst', noticed(1024));
  images.set('b.zst', noticed(512));
  session.take(input('a.zst'));
  expect(await step('large')).toEqual({ step: 'large', name: 'a.zst', size: 1 << 30 });
  session.allowMemory();
  await step('ready');
  session.reset();
  session.take(input('b.zst'));
  await step('ready');
});

test('an image that takes much memory to unpack is unpacked after a question', async () => {
  const needed = (mib: number) => {
    const fields = { format: 'qcow2', window: mib << 20 };
    return new DecantError('unsupported', 'Unpack it', { code: 'needs-spool', fields });
  };
  images.set('a.zst', ({ spool }) => (spool ? imageCalled('a.zst') : needed(1024)));
  images.set('b.zst', ({ spool }) => (spool ? imageCalled('b.zst') : needed(513)));
  images.set('c.zst', ({ spool }) => (spool ? imageCalled('c.zst') : needed(512)));
  session.take(input('a.zst'));
  expect(await step('large')).toEqual({ step: 'large', name: 'a.zst', size: 1 << 30 });
  session.allowMemory();
  await step('packed');
  session.unpack();
  await step('ready');
  session.reset();
  // The permission to unpack is remembered; the memory needs a new permission.
  session.take(input('b.zst'));
  expect(await step('large')).toMatchObject({ name: 'b.zst' });
  session.allowMemory();
  await step('ready');
  session.reset();
  session.take(input('c.zst'));
  await step('ready');
});

/** A machine with these disks, whose files are found by their names. */
function machine(name: string, ...wanted: string[]): void {
  images.set(name, ({ companions = [], disk }) => {
    const names = companions.map((one) => (one as File).name);
    const disks = wanted.map((name) => ({ name, size: 1, ...(names.includes(name) ? {} : { missing: true }) }));
    const isNone = disks.every(({ missing }) => missing);
    const there = disks.filter(({ name }, at) => disk === name || disk === at + 1);
    if (there.length === 1 && !there[0]!.missing) return imageOf({ name: there[0]!.name }, { disks });
    const fields = { disks };
    if (disk !== undefined) return new DecantError('usage', 'No', { code: 'no-such-disk', fields });
    if (isNone) return new DecantError('missing-file', 'No', { fields });
    return new DecantError('usage', 'Choose', { code: 'several-images', fields });
  });
}

test('a machine asks for its missing disk, and its base is not opened instead', async () => {
  machine('vm.vbox', 'now.vdi', 'second.vdi');
  for (const name of ['base.vdi', 'now.vdi', 'second.vdi', 'other.vdi']) images.set(name, imageCalled(name));
  session.take(input('vm.vbox', 'base.vdi', 'second.vdi'));
  const { disks } = await step('disks');
  expect(disks).toMatchObject([{ name: 'now.vdi', missing: true }, { name: 'second.vdi' }]);
  expect(rows()).toEqual(['vm.vbox current']);
  expect(session.news).toBe(english.held(['base.vdi']));
  // Other files wait.
  session.take(input('other.vdi'));
  await soon(() => expect(rows()).toEqual(['vm.vbox current', 'other.vdi waiting']));
  session.take(input('NOW.vdi', 'now.vdi'));
  await soon(() => expect((session.state as { disks?: object[] }).disks?.[0]).toEqual({ name: 'now.vdi', size: 1 }));
  session.chooseDisks([0]);
  expect((await step('ready')).image.info.name).toBe('now.vdi');
  expect(session.opening?.companions.map(({ file }) => file.name)).toEqual([
    ...['base.vdi', 'second.vdi', 'NOW.vdi', 'now.vdi'],
  ]);
});

test('a configuration alone asks for its disk', async () => {
  machine('vm.vmx', 'a.vmdk');
  session.take(input('vm.vmx'));
  expect(await step('disks')).toMatchObject({ disks: [{ name: 'a.vmdk', missing: true }] });
});

test('files of which none looks like a disk are listed, and none is chosen', async () => {
  const disks = [
    { name: 'README', size: 1 },
    { name: 'data.bin', size: 2 },
  ];
  images.set('a.tar', ({ disk }) =>
    disk === undefined
      ? new DecantError('usage', 'Choose', { code: 'no-image', fields: { disks } })
      : imageOf({ name: disks[Number(disk) - 1]!.name }, { disks }),
  );
  session.take(input('a.tar'));
  expect(await step('disks')).toMatchObject({ name: 'a.tar', disks, isUnknown: true, notice: undefined });
  session.chooseDisks([1]);
  expect((await step('ready')).image.info.name).toBe('data.bin');
});

test('an archive that lacks a disk of its machine says so, and offers the others', async () => {
  const disks = [{ name: 'a.vmdk', size: 1 }];
  images.set('vm.ova', ({ disk }) =>
    disk === undefined
      ? new DecantError('missing-file', 'b.vmdk is missing', { fields: { container: 'tar', disks, file: 'b.vmdk' } })
      : imageOf({ name: 'a.vmdk' }, { disks }),
  );
  session.take(input('vm.ova'));
  expect(await step('disks')).toMatchObject({ notice: 'b.vmdk is missing from the archive.', isArchive: true });
  session.chooseDisks([0]);
  expect((await step('ready')).image.info.name).toBe('a.vmdk');
});
