// Targets that cannot be: an encrypted image takes seconds to unlock, and they are refused before that.

import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decant, program } from '../support/command.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { expect, test } from '../support/node.js';

interface Refused {
  kind: string;
  message: string;
  phases: string[];
}

const REFUSED: { name: string; target: (folder: string) => string; kind: string; status: number; part: string }[] = [
  {
    name: 'a missing folder',
    target: (folder) => join(folder, 'missing', 'out.raw'),
    kind: 'sink',
    status: 1,
    part: 'no such file or folder',
  },
  { name: '/dev/null', target: () => '/dev/null', kind: 'usage', status: 2, part: 'neither a regular file' },
  {
    name: 'the image itself',
    target: (folder) => join(folder, 'image.qcow2'),
    kind: 'usage',
    status: 2,
    part: 'the image itself',
  },
  { name: 'a folder', target: (folder) => folder, kind: 'usage', status: 2, part: 'neither a regular file' },
];

for (const { name, target, kind, status, part } of REFUSED) {
  test(`${name} as the target of an encrypted image is refused before it is unlocked`, ({ folder }) => {
    const [image, password] = [join(folder, 'image.qcow2'), join(folder, 'password')];
    copyFileSync(images.luksSlow(), image);
    writeFileSync(password, PASSWORD);
    const refused = program<Refused>(
      `const image = await decant.open(args[0], { password: args[1] });
      const phases = new Set();
      const onProgress = ({ phase }) => phases.add(phase);
      const { kind, message } = await image.convert(args[2], { onProgress }).catch((thrown) => thrown);
      await image.close();
      console.log(JSON.stringify({ kind, message, phases: [...phases] }));`,
      ...[image, PASSWORD, target(folder)],
    );
    expect(refused).toMatchObject({ kind, message: expect.stringContaining(part), phases: ['preparing'] });
    const ended = decant('convert', '--password-file', password, image, target(folder));
    expect(ended).toMatchObject({ status, stdout: '', stderr: expect.stringMatching(/^decant: [^\n]*\n$/) });
    expect(ended.stderr).toContain(part);
    expect(readdirSync(folder).toSorted()).toEqual(['image.qcow2', 'password']);
    expect(hashFile(image)).toBe(hashFile(images.luksSlow()));
  });
}

test('a wrong password leaves nothing at a target that could be', ({ folder }) => {
  const refused = program<Pick<Refused, 'kind'>>(
    `const image = await decant.open(args[0], { password: 'wrong' });
    const { kind } = await image.convert(args[1]).catch((thrown) => thrown);
    await image.close();
    console.log(JSON.stringify({ kind }));`,
    ...[images.luks(), join(folder, 'out.raw')],
  );
  expect(refused).toEqual({ kind: 'password' });
  expect(readdirSync(folder)).toEqual([]);
});
