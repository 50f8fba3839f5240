// A stored file in a zip archive is compared with its checksum by the workers of each engine.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENGINES, expect, giveFile, hashOpfs, test } from '../support/browser.js';
import { hashFile } from '../support/images.js';

const MAKE = `
import random, zipfile
disk = bytearray(9 << 20)
disk[510:512] = b'\\x55\\xaa'
disk[1 << 20:5 << 20] = random.Random(1).randbytes(4 << 20)
open('disk.img', 'wb').write(disk)
zipfile.ZipFile('a.zip', 'w').write('disk.img')
`;

for (const [engine, details] of ENGINES) {
  test(`${engine}: a damaged byte is noticed`, details, async ({ apiPage: page }, testInfo) => {
    const folder = testInfo.outputPath('.');
    execFileSync('python3', ['-c', MAKE], { cwd: folder });
    const path = join(folder, 'a.zip');
    const convert = () =>
      page.evaluate(async (engine) => {
        const image = await window.decant.open(window.file, { engine });
        try {
          return await image.convert({ opfs: 'out' }).then(
            () => 'done',
            ({ code }) => code,
          );
        } finally {
          await image.close();
        }
      }, engine);
    await giveFile(page, path);
    expect(await convert()).toBe('done');
    expect(await hashOpfs(page, 'out')).toBe(hashFile(join(folder, 'disk.img')));
    const changed = readFileSync(path);
    changed[3_000_000]! ^= 1;
    writeFileSync(path, changed);
    await giveFile(page, path);
    expect(await convert()).toBe('zip-damaged');
  });
}
