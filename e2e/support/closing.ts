// Images that are opened for one operation.

import type { AnyImage, DiskImage } from '../../dist/node.js';

/** Runs `work` with the image, and closes it in any case. A streamed image refuses the methods that it lacks. */
export async function closing<T>(image: AnyImage, work: (image: DiskImage) => Promise<T>): Promise<T> {
  try {
    return await work(image as DiskImage);
  } finally {
    await image.close();
  }
}
