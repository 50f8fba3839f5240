// Commands as parts: texts, and each placeholder between two of them.

import { nextStep } from 'decant/places';
import { expect, test } from 'vitest';
import { originsOf, partsOfCommands, wordsOf } from './commands-view.js';

const disk = { file: 'my BUCKET.vmdk', format: 'vmdk', outputSize: 512, virtualSize: 1024 };

test('a placeholder is a part of its own, wherever it is; the name of a file is none', () => {
  const [copy] = partsOfCommands('aws', disk);
  expect(copy).toEqual(["aws s3 cp 'my BUCKET.vmdk' s3://", 'BUCKET', '/my-bucket.vmdk']);
});

for (const place of ['aws', 'azure', 'google', 'proxmox', 'hyperv', 'openstack', 'raw', 'nowhere']) {
  test(`${place}: the parts are those of the commands`, () => {
    const commands = nextStep(place, disk)?.commands ?? [];
    const parts = partsOfCommands(place, disk);
    expect(parts.map((one) => one.join(''))).toEqual(commands.map(({ line }) => line));
    for (const [at, { placeholders }] of commands.entries())
      expect(new Set(parts[at]!.filter((_, part) => part % 2 === 1))).toEqual(new Set(placeholders));
  });
}

test('a value that a command prints is from the step of that command, without comments', () => {
  const command = (line: string, placeholders: string[] = [], prints?: string[]) => ({
    line,
    placeholders,
    ...(prints && { prints }),
  });
  const commands = [
    command('# once'),
    command('a', [], ['X']),
    command('b X Y', ['X', 'Y'], ['Y']),
    command('c Y', ['Y']),
  ];
  expect(originsOf(commands)).toEqual([[], [], [{ placeholder: 'X', step: 1 }], [{ placeholder: 'Y', step: 2 }]]);
});

test('two disks on Azure: each address is from its own step', () => {
  const vhd = { file: 'a.vhd', format: 'vpc', outputSize: 5e6, virtualSize: 5e6 };
  const origins = originsOf(nextStep('azure', [vhd, { ...vhd, file: 'b.vhd' }])!.commands);
  expect(origins.flat()).toEqual([
    { placeholder: 'SAS_URL', step: 2 },
    { placeholder: 'SAS_URL_2', step: 6 },
  ]);
});

test.each([
  [['a --b'], [['a'], ['--b']]],
  [
    ['cp x s3://', 'BUCKET', '/x y'],
    [['cp'], ['x'], ['s3://', 'BUCKET', '/x'], ['y']],
  ],
  [
    ['', 'A', ' ', 'B', ''],
    [
      ['', 'A', ''],
      ['', 'B', ''],
    ],
  ],
])('the words of %j are %j', (parts, words) => expect(wordsOf(parts)).toEqual(words));
