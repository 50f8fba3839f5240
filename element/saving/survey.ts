// Surveys the disk of an open image: its map, its partitions and file systems.

import type { AnyImage } from 'decant';
import { DiskPicture } from '../picture/disk-picture.js';
import { diskSize, type Images, knownSize, type Survey, totalSize } from '../ways/choices.js';

/** The interval at which a survey is shown while the map is read, in milliseconds. */
const SHOW_INTERVAL = 100;

/** The survey of `images` before anything is read. The picture of several disks has a colour for each, as for layers. */
export function beginSurvey(images: Images, names: string[]): Survey {
  const survey = { data: 0, compressed: 0, lost: 0, complete: false, isDue: false };
  const virtualSize = knownSize(images);
  const layers = images.length > 1 ? names : images[0].info.layers.map(({ name }) => name);
  return virtualSize === undefined ? survey : { ...survey, picture: new DiskPicture(virtualSize, layers) };
}

/**
 * Reads the maps of `images` into `survey`, and calls `show` now and then. Stops when `isWanted` is false: a conversion reads the
 * whole maps itself, and reports the same failures.
 */
export async function readMaps(
  images: Images,
  signal: AbortSignal,
  survey: Survey,
  show: () => void,
  isWanted: () => boolean,
): Promise<void> {
  let shown = performance.now();
  const isRead = async (image: AnyImage, number: number, base: number): Promise<boolean> => {
    if (image.streamed) survey.data += diskSize(image.info);
    for await (const extent of image.streamed ? [] : image.map({ signal })) {
      if (signal.aborted || !isWanted()) return false;
      const placed = { ...extent, offset: base + extent.offset, depth: number };
      survey.picture?.add(images.length > 1 ? placed : extent);
      if (extent.kind === 'lost') survey.lost += extent.length;
      if (extent.kind === 'data') survey.data += extent.length;
      if (extent.kind === 'data' && extent.compressed) survey.compressed += extent.length;
      if (performance.now() - shown < SHOW_INTERVAL) continue;
      show();
      shown = performance.now();
    }
    return true;
  };
  try {
    for (const [at, image] of images.entries()) {
      if (!(await isRead(image, at, totalSize(images.slice(0, at))))) return;
    }
  } catch (thrown) {
    if (isWanted()) throw thrown;
    return;
  }
  survey.complete = true;
  show();
}

/** Reads the partitions and file systems of `image` into `survey`. */
export async function readContents(
  image: AnyImage,
  signal: AbortSignal,
  survey: Survey,
  show: () => void,
): Promise<void> {
  if (image.streamed) return;
  const read = (offset: number, length: number) => image.read(offset, length, { signal });
  // A conversion reports the same failure.
  const contents = await import('decant/contents')
    .then(({ contentsOf }) => contentsOf(read, image.info.virtualSize))
    .catch(() => undefined);
  if (!contents) return;
  survey.contents = contents;
  show();
}
