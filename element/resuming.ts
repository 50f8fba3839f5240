// Downloads that were cut off: a disk in the browser's storage of which a part is done.

import type { AnyImage, Kept, OutputFormat } from 'decant';

/** What a download of the image would go on with; undefined where it could not go on. */
export async function keptDownload(image: AnyImage, name: string, format: OutputFormat): Promise<Kept | undefined> {
  try {
    return await image.kept({ download: name }, { format: format.name });
  } catch {
    // Without a storage nothing is kept, and a conversion says so itself.
    return undefined;
  }
}
