// Finds folder pickers and downloads that the frames around the page block.

import { targets } from 'decant';
import type { Environment } from './choices.js';
import type { Stage } from './stage.js';
import { allTexts } from './texts/all-texts.js';

export async function frameObstacles(stage: Stage): Promise<Partial<Environment>> {
  const { foreignPicker, frameDownload } = allTexts(stage);
  const codes = new Map((await targets()).map(({ name, code }) => [name, code]));
  const picker = codes.get('folder') === 'foreign-frame' ? foreignPicker : undefined;
  const forbidden: Partial<Record<string, string>> = frameDownload;
  const download = forbidden[codes.get('download') ?? ''];
  return {
    ...(picker && { folderObstacle: picker, dialogObstacle: picker }),
    ...(download && { downloadObstacle: download }),
  };
}
