// Which of several files is the image to convert, and which are there because it refers to them.

import { DecantError, open } from 'decant';

/** More files than this are not looked into: somebody has dropped a whole folder. */
const MOST = 32;

const baseName = (path: string): string => path.split(/[/\\]/).at(-1)!;

/** The names that `file` refers to; undefined where it is no image that is recognised. */
async function namesIn(file: File, signal: AbortSignal): Promise<string[] | undefined> {
  try {
    const image = await open(file, { signal });
    const { backingFile, dataFile } = image.info;
    await image.close();
    return [backingFile, dataFile].flatMap((reference) => (reference ? [baseName(reference.name)] : []));
  } catch (thrown) {
    // A damaged image is still the one that is meant.
    return thrown instanceof DecantError && thrown.kind === 'not-recognised' ? undefined : [];
  }
}

/** The one image that no other one refers to; undefined where there is none or more than one. */
export async function findTop(files: File[], signal: AbortSignal): Promise<File | undefined> {
  if (files.length > MOST) return undefined;
  const images: File[] = [];
  const named = new Set<string>();
  for (const file of files) {
    const names = await namesIn(file, signal);
    if (!names) continue;
    images.push(file);
    // A name of its own proves nothing: it may be a file of the same name elsewhere.
    for (const name of names.filter((name) => name !== file.name)) named.add(name);
  }
  const tops = images.filter(({ name }) => !named.has(name));
  return tops.length === 1 ? tops[0] : undefined;
}
