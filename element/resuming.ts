// Interrupted downloads: partly converted disks in the browser's storage.

import type { AnyImage, Kept, OutputFormat } from 'decant';

/** Finds the kept part of a download of the image; `undefined` if it could not be resumed. */
export async function keptDownload(image: AnyImage, name: string, format: OutputFormat): Promise<Kept | undefined> {
  try {
    return await image.kept({ download: name }, { format: format.name, formatOptions: format.recommended });
  } catch {
    // Without storage nothing is kept. A conversion reports the missing storage.
    return undefined;
  }
}
