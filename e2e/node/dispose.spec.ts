// dispose() while calls are pending: each fails with `cancelled`, and the package works afterwards.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { small } from '../support/images.js';
import { expect, test } from '../support/node.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const SIZE = 1 << 20;

/** A source whose reads from `from` on are answered when `release` is called. `reached` resolves at the first one. */
function heldSource(from = 0) {
  let reached = () => {};
  let release = () => {};
  const whenReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = true;
  const source = {
    name: 'disk.raw',
    size: SIZE,
    async read(offset: number, length: number) {
      if (isHeld && offset + length > from) {
        reached();
        await released;
      }
      return new Uint8Array(length).fill(1);
    },
  };
  return {
    source,
    whenReached,
    hold: (held: boolean) => {
      isHeld = held;
    },
    release: () => release(),
  };
}

/** Disposes while `call` is pending, after `reached`, and expects that it is cancelled and that the package still works. */
async function expectCancelled(call: Promise<unknown>, reached: Promise<unknown>): Promise<void> {
  const failed = call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  await reached;
  await decant.dispose();
  expect(await failed).toMatchObject({ kind: 'cancelled' });
  const image = await decant.open(new Uint8Array(SIZE), { inputFormat: 'raw' });
  await image.close();
}

test('open, before its sources are open', async () => {
  const opening = decant.open(new Uint8Array(SIZE), { inputFormat: 'raw' });
  await expectCancelled(opening, Promise.resolve());
});

test('open, while the image is read', async () => {
  const { source, whenReached, release } = heldSource();
  await expectCancelled(decant.open(source), whenReached);
  release();
});

test('open, while a disk of a virtual machine is read', async ({ folder }) => {
  const config = join(folder, 'vm.ovf');
  writeFileSync(config, '<Envelope><File id="f" href="disk.raw"/><Disk fileRef="f"/></Envelope>');
  const { source, whenReached, release } = heldSource();
  await expectCancelled(decant.open(config, { companions: [source] }), whenReached);
  release();
});

test('open, while a password is awaited', async () => {
  let asked = () => {};
  const whenAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const image = await decant.open(small.luks(), {
    password: () => {
      asked();
      return new Promise(() => {});
    },
  });
  if (image.streamed) throw new Error('it is read in order');
  await expectCancelled(image.unlock(), whenAsked);
});

test('prepare', async () => {
  await expectCancelled(decant.prepare({ workers: 3 }), Promise.resolve());
});

for (const [what, call] of [
  ['read', (image) => image.read(0, 4096)],
  ['readable', (image) => image.readable().getReader().read()],
  ['convert', (image, folder) => image.convert(join(folder, 'out.raw'))],
  ['convert to a stream', (image) => image.convert(new WritableStream())],
] as [what: string, call: (image: Decant.DiskImage, folder: string) => Promise<unknown>][]) {
  test(what, async ({ folder }) => {
    const { source, whenReached, hold, release } = heldSource();
    hold(false);
    const image = await decant.open(source, { inputFormat: 'raw' });
    if (image.streamed) throw new Error('it is read in order');
    hold(true);
    await expectCancelled(call(image, folder), whenReached);
    release();
  });
}
