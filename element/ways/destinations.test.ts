// The formats and places for several disks that become one file, and the format that is offered in place of a slow one.

import type { OutputFormat } from 'decant';
import { expect, test } from 'vitest';
import { imageOf, OUTPUTS, outputOf, screenIn } from '../element.test-support.js';
import type { OwnPlace } from '../types.element.js';
import type { Choice } from './choices.js';
import { destinationsOf, formatsOf, quickFormat } from './destinations.js';

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
  // A refusal is not a notice: the conversion fails with it, and names the disk.
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

const [rawDisk, vhd, quick] = [
  outputOf('raw', '.raw', { outputSize: 9e12 }),
  outputOf('vpc', '.vhd'),
  outputOf('qcow2', '.qcow2'),
];
const long: Choice[] = [{ way: 'folder', method: 'picked', takesHours: true }];

test.each([
  // (what, formats of the image, chosen output, place, choices, bytes of data, offered format)
  ['a raw disk that takes hours', [rawDisk, quick], rawDisk, undefined, long, 8e6, quick],
  ['the place is a raw disk', [rawDisk, quick], rawDisk, 'raw', long, 8e6, quick],
  ['another place wants it', [rawDisk, quick], rawDisk, 'mine', long, 8e6, undefined],
  ['another format', [rawDisk, quick, vhd], vhd, undefined, long, 8e6, undefined],
  ['a full disk', [rawDisk, quick], rawDisk, undefined, long, 8e12, undefined],
  ['a small disk', [rawDisk, quick], rawDisk, undefined, [{ way: 'folder', method: 'picked' }], 8e6, undefined],
  ['no other format', [rawDisk], rawDisk, undefined, long, 8e6, undefined],
  ['the other one is impossible', [rawDisk, { ...quick, refusal }], rawDisk, undefined, long, 8e6, undefined],
] as [
  string,
  OutputFormat[],
  OutputFormat,
  string | undefined,
  Choice[],
  number,
  OutputFormat | undefined,
][])('a format that is offered instead: %s', (_, formats, output, name, choices, data, expected) => {
  const destination = name === undefined ? undefined : { name, label: name, output };
  const survey = { data, compressed: 0, lost: 0, complete: true, isDue: false };
  expect(quickFormat({ image: imageOf({}, { formats }), output, destination, choices, survey })).toBe(expected);
});
