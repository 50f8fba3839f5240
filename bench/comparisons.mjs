// Compares two images of one disk, beside qemu-img.

import { disk, image } from './images.mjs';
import { alternate, perBuild, print, printRatios, timed } from './report.mjs';

/** A zlib qcow2 and the raw disk, in Node. */
export async function comparisons() {
  const [zlib, raw] = [image('zlib'), disk()];
  const compare = (...command) => timed(...command, 'compare', '-F', 'raw', zlib, raw).real;
  print('\n## zlib, compared with the raw disk');
  const runners = {
    'qemu-img compare': () => compare('qemu-img'),
    ...perBuild('Node', ({ command }) => compare(process.execPath, command)),
  };
  printRatios(await alternate(runners), 'qemu-img compare');
}
