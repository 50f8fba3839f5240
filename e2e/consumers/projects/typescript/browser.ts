import { configure, DecantError, type DiskImage, type Engine, open, type Target } from 'decant';
import { threads } from 'decant/threads';

configure({
  worker: (_engine: Engine) => new Worker('/worker.js', { type: 'module' }),
  wasm: async (_engine) => new URL('/decant.wasm', location.href),
  threads,
});

const target: Target = {
  async write(_offset: number, _bytes: Uint8Array<ArrayBuffer>) {},
  async close() {},
  async abort(_reason: Error) {},
};

export async function convert(file: File): Promise<number> {
  try {
    const image = await open(file, { password: async (layer) => layer.name });
    await image.convert({ opfs: 'disk.raw' }, { onProgress: ({ guestDone }) => console.log(guestDone) });
    const { outputSize } = await image.convert(target);
    if (!image.streamed) await image.read(0, 512);
    await image.close();
    return outputSize;
  } catch (thrown) {
    if (thrown instanceof DecantError && thrown.kind === 'password') return 0;
    throw thrown;
  }
}

// @ts-expect-error: no such kind of output.
export const wrong = async (image: DiskImage) => image.convert({ nowhere: 1 });
