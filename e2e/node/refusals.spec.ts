// Invalid targets: they are refused before an encrypted image is unlocked, which takes seconds.

import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { decant as command } from '../support/command.js';
import { failure } from '../support/failure.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const REFUSED: [name: string, target: string, kind: string, status: number, part: string, details: object][] = [
  ['a missing folder', '{folder}/missing/out.raw', 'target', 1, 'no such file or folder', {}],
  ['/dev/null', '/dev/null', 'usage', 2, 'neither a regular file', FULL],
  ['the image itself', '{folder}/image', 'usage', 2, 'the image itself', FULL],
  ['a folder', '{folder}', 'usage', 2, 'is a folder; choose a file', FULL],
];

for (const [name, target, kind, status, part, details] of REFUSED) {
  /** The image in `folder`, and the target there. */
  function prepare(folder: string): { image: string; output: string } {
    const image = join(folder, 'image');
    copyFileSync(images.luks(), image);
    return { image, output: target.replace('{folder}', folder) };
  }

  test(`${name} as the target of an encrypted image is refused before it is unlocked`, async ({ folder }) => {
    const { image, output } = prepare(folder);
    const opened = await decant.open(image, { password: PASSWORD });
    const phases = new Set<string>();
    const refused = await failure(opened.convert(output, { onProgress: ({ phase }) => phases.add(phase) }));
    await opened.close();
    expect(refused.startsWith(`${kind}: `), refused).toBe(true);
    expect(refused).toContain(part);
    expect([...phases]).toEqual(['preparing']);
    expect(readdirSync(folder)).toEqual(['image']);
    expect(hashFile(image)).toBe(hashFile(images.luks()));
  });

  test(`the command refuses ${name} as the target of an encrypted image`, details, ({ folder }) => {
    const { image, output } = prepare(folder);
    const password = join(folder, 'password');
    writeFileSync(password, PASSWORD);
    const ended = command('convert', '--password-file', password, image, output);
    expect(ended).toMatchObject({ status, stdout: '', stderr: expect.stringMatching(/^decant: [^\n]*\n$/) });
    expect(ended.stderr).toContain(part);
    expect(readdirSync(folder).toSorted()).toEqual(['image', 'password']);
    expect(hashFile(image)).toBe(hashFile(images.luks()));
  });
}

test('a wrong password leaves nothing at a target that could be', async ({ folder }) => {
  const image = await decant.open(images.luks(), { password: 'wrong' });
  const phases = new Set<string>();
  const onProgress = ({ phase }: decant.Progress) => phases.add(phase);
  expect(await failure(image.convert(join(folder, 'out.raw'), { onProgress }))).toMatch(/^password: /);
  await image.close();
  // It was unlocked as far as that goes.
  expect([...phases]).toContain('unlocking');
  expect(readdirSync(folder)).toEqual([]);
});
