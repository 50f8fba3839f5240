// Images that are opened for one thing.

import type { Image } from '../../dist/node.js';

/** Does `work` with the image, and closes it, whatever comes of that. */
export async function closing<T>(image: Image, work: (image: Image) => Promise<T>): Promise<T> {
  try {
    return await work(image);
  } finally {
    await image.close();
  }
}
