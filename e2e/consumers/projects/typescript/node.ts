import { type ConvertResult, open } from 'decant';
import { checkTarget } from 'decant/testing';

export async function convert(path: string): Promise<ConvertResult> {
  const image = await open(path);
  return image.convert(new URL('file:///tmp/disk.raw'), { sync: true });
}

export const check: typeof checkTarget = checkTarget;

// @ts-expect-error: a number is no image.
export const wrong = open(1);
