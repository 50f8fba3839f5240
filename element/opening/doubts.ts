// Reasons against a file that the person gave for a file that the image names.

import { type AnyImage, open } from 'decant';
import { isSameName } from '../files/bundle.js';
import { type InputFile, mayBeSame, sourceOf } from '../files/input-file.js';
import type { Answer } from '../files/opening.js';
import { smaller } from '../steps/warnings.js';
import type { AllTexts } from '../types.texts.js';
import { diskSize } from '../ways/choices.js';

const SECTOR = 512;

/**
 * Returns the reasons why the file of an answer may be the wrong one, each a sentence. `image`, whose own file is `top`, was
 * opened with the file. A disk that is smaller than the disk of the layer above is not a reason by itself, since disks are
 * enlarged; `smallerLayers` reports it.
 */
export async function doubtsAbout(
  { need, input }: Answer,
  top: InputFile,
  image: AnyImage,
  texts: AllTexts,
  signal: AbortSignal,
): Promise<string[]> {
  const { file, link } = input;
  const doubts: string[] = [];
  if (await mayBeSame(input, top)) doubts.push(texts.probablyTheImage(file.name));
  // Opening has checked the identity of a parent.
  if (need.role !== 'parent' && !isSameName(need.fileName, file.name))
    doubts.push(texts.otherName(file.name, need.fileName));
  const at = image.info.layers.findIndex(({ name }, at) => at > 0 && name === file.name);
  const [above, layer] = [image.info.layers[at - 1], image.info.layers[at]];
  if (
    need.role === 'data file' &&
    image.info.specific['data-file-raw'] === true &&
    !link &&
    file.size < diskSize(image.info)
  ) {
    doubts.push(texts.shortDataFile(file.name, file.size, diskSize(image.info)));
  }
  if (!above || !layer) return doubts;
  if (layer.format === 'raw') {
    const format = await formatOf(input, signal);
    if (format !== undefined) doubts.push(texts.notRaw(file.name, format, above.name));
    else if (file.size % SECTOR !== 0) doubts.push(texts.noDisk(file.name));
    else if (layer.guessed) doubts.push(texts.guessedRaw(file.name));
  }
  if (doubts.length > 0 && layer.virtualSize < above.virtualSize) doubts.push(smaller(layer, above, texts));
  return doubts;
}

/** Recognises the format of a file by its content; `undefined` if it has none. */
async function formatOf(input: InputFile, signal: AbortSignal): Promise<string | undefined> {
  try {
    const image = await open(await sourceOf(input, signal), { signal });
    await image.close();
    return image.info.format;
  } catch {
    return undefined;
  }
}
