// What the description of an image says of the size of its disk and of its layers.

import type { AnyImage, AnyInfo } from 'decant';
import type { AllTexts } from '../types.texts.js';

/** The virtual size. If it is known only at the end, the size of the file, since the disk is rarely smaller. */
export const diskSize = ({ virtualSize, fileSize = 0 }: AnyInfo): number => virtualSize ?? fileSize;

type ImageLayer = AnyImage['info']['layers'][number];

export const smaller = (layer: ImageLayer, above: ImageLayer, texts: AllTexts): string =>
  texts.smallerLayer(layer.name, layer.virtualSize, above.name, above.virtualSize);

/** Returns a sentence for each layer whose disk is smaller than the disk of the layer above. */
export function smallerLayers({ layers }: AnyImage['info'], texts: AllTexts): string[] {
  return layers.flatMap((layer, at) => {
    const above = layers[at - 1];
    return above && layer.virtualSize < above.virtualSize ? [smaller(layer, above, texts)] : [];
  });
}
