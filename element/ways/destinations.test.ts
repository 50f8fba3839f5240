// The formats and places for several disks that become one file.

import type { OutputFormat } from 'decant';
import { expect, test } from 'vitest';
import { imageOf, OUTPUTS, outputOf, screenIn } from '../element.test-support.js';
import type { OwnPlace } from '../types.element.js';
import { destinationsOf, formatsOf } from './destinations.js';

const place = (name: string, format: string) => ({
  ...{ name, label: name, format, formatOptions: {}, extension: `.${format}`, notices: [] },
});
const PLACES = [place('raw', 'raw'), place('vmware', 'vmdk'), place('azure', 'vpc'), place('forklift', 'ova')];

const disk = (name: string, more: Partial<OutputFormat> = {}) =>
  imageOf(
    { name },
    { formats: [...OUTPUTS, outputOf('vmdk', '.vmdk'), outputOf('ova', '.ova', more)], places: async () => PLACES },
  );

const grows = { code: 'disk-grows', fields: { added: 1 }, message: 'It grows' };
const refusal = { kind: 'limit', code: 'output-limit', fields: {}, message: 'It is too large' } as const;
const one = disk('a');
const two = [one, disk('b', { notices: [grows], refusal })] as const;

test('one disk becomes any format, several become an OVA', () => {
  expect(formatsOf([one])).toBe(one.formats);
  // What is refused is said by the conversion, with the name of the disk.
  expect(formatsOf([two[1], two[0]])).toEqual([
    outputOf('ova', '.ova', { notices: [{ ...grows, fields: { added: 1, disk: 'b' }, message: 'b: It grows' }] }),
  ]);
});

const own = (format: string): OwnPlace => ({ name: 'mine', label: 'Mine', format, formatOptions: { uuid: '1' } });

test.each([
  // (what, disks, places that the page wants, whether it takes the disk, places with their formats)
  ['one disk', [one], undefined, false, ['raw raw', 'vmware vmdk', 'azure vpc', 'forklift ova']],
  ['several disks', two, undefined, false, ['vmware ova', 'forklift ova']],
  [
    'several disks for chosen places',
    two,
    ['azure', 'vmware', own('ova'), own('raw')],
    false,
    ['vmware ova', 'mine ova'],
  ],
  ['several disks without places', two, [], false, []],
  ['several disks that the page takes', two, undefined, true, []],
] as const)('%s', async (_, disks, places, takes, expected) => {
  const output = takes ? () => new WritableStream() : undefined;
  const { host } = screenIn({ places, output }).screen;
  const found = await destinationsOf(disks, host);
  expect(found.map(({ name, output }) => `${name} ${output.name}`)).toEqual(expected);
});
