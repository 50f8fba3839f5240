// Layers whose disk is smaller than that of the layer above.

import type { AnyImage } from 'decant';
import type { AllTexts } from './types.texts.js';

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
