// Images on a server as most are.

import { linkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { start } from '../support/command.js';
import { expectSame, sparse } from '../support/images.js';
import { startNginx } from '../support/nginx.mjs';
import { expect, test } from '../support/node.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

test(
  'nginx: an image by the package and by the command, with the sentences of what is not there',
  { tag: '@full' },
  async ({ folder }) => {
    const disk = sparse(64 << 20);
    linkSync(disk.image, join(folder, 'disk.qcow2'));
    const nginx = await startNginx(join(folder, 'nginx'), folder);
    try {
      const output = join(folder, 'out.raw');
      const image = await decant.open(`${nginx.http}/disk.qcow2`);
      expect(await image.convert(output)).toMatchObject({ sourceVerified: true });
      await image.close();
      expectSame(output, disk.raw);
      await expect.poll(() => nginx.served().length).toBeGreaterThan(2);
      expect(
        nginx
          .served()
          .slice(1)
          .every(({ status }) => status === 206),
      ).toBe(true);
      const command = start('convert', '--resume', `${nginx.http}/disk.qcow2`, output);
      expect(await command.ended).toMatchObject({ status: 0, stderr: '' });
      expectSame(output, disk.raw);
      await expect(decant.open(`${nginx.http}/gone.qcow2`)).rejects.toThrow(/404 Not Found; there is no such file$/);
    } finally {
      await nginx.stop();
    }
  },
);
