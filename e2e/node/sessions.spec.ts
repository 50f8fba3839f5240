// The sessions of an image: one, and those still in use.

import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Writes the package, with its internals, as a module in `folder`. Returns its path. */
async function packageWithSession(folder: string): Promise<string> {
  const entry = join(folder, 'entry.ts');
  writeFileSync(
    entry,
    `export { open } from '${root}worker/node.ts'; export { ImageSession } from '${root}worker/client-side/image-session.ts';`,
  );
  for (const name of ['worker.node.mjs', 'decant.wasm']) copyFileSync(join(root, 'dist', name), join(folder, name));
  const file = join(folder, 'inside.js');
  await build({ input: entry, external: /^(node:|undici$)/, output: { file, format: 'es', codeSplitting: false } });
  return file;
}

test('a session that was given up while it was held goes with its last user', async ({ folder }) => {
  const script = `
    import { queryObjects } from 'node:v8';
    import { open, ImageSession } from '${await packageWithSession(folder)}';
    const count = () => queryObjects(ImageSession, { format: 'count' });
    const { hold } = ImageSession.prototype;
    let giveUp;
    ImageSession.prototype.hold = function () {
      giveUp ??= () => this.giveUp();
      hold.call(this);
    };
    const image = await open('${images.endless()}');
    const map = image.map();
    await map.next();
    await giveUp();
    giveUp = async () => {};
    await image.read(0, 1);
    const held = count();
    await map.return();
    // A coordinator that has ended is forgotten when the next one is asked for.
    await (await open('${images.kinds()}')).close();
    const left = count();
    await image.close();
    console.log(JSON.stringify({ held, left }));
  `;
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(JSON.parse(told)).toEqual({ held: 2, left: 1 });
});
