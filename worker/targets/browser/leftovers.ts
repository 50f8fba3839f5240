// Lists the parts of disks that interrupted conversions left in the origin's private file system.

import { DecantError } from '../../errors/errors.js';
import { FOLDER, JOURNAL } from '../../messages/messages.js';
import type { Leftover } from '../../public/types.browser.js';
import { DOWNLOAD } from './download.js';
import { isFree, linesOf, storageRoot, TemporaryFile } from './storage.js';
import { requireGone } from './stored-output.js';

/** As `leftovers` of the package. Creates nothing. */
export async function listLeftovers(): Promise<Leftover[]> {
  const files = await storageRoot()
    .then((root) => root.getDirectoryHandle(FOLDER))
    // A page without storage has no leftovers.
    .catch(() => undefined);
  if (!files) return [];
  const found: Promise<Leftover | undefined>[] = [];
  for await (const name of files.keys()) if (!JOURNAL.test(name)) found.push(leftoverOf(files, name));
  return (await Promise.all(found)).filter((leftover) => leftover !== undefined);
}

/** The leftover `name`; undefined if a tab uses it, or if nothing can resume it: then it is swept. */
async function leftoverOf(files: FileSystemDirectoryHandle, name: string): Promise<Leftover | undefined> {
  if (!(await isFree(name))) return undefined;
  try {
    const lines = await linesOf(files, name);
    const { size } = await (await files.getFileHandle(name)).getFile();
    if (!lines?.resumePoint) return undefined;
    const { head, image, resumePoint } = lines;
    return {
      kind: isDownload(head) ? 'download' : 'opfs',
      ...(image === undefined ? {} : { image }),
      size: size + lines.size,
      guestDone: resumePoint.guest,
      discard: () => discard(name),
    };
  } catch {
    // It was removed in the meantime, or cannot be read.
    return undefined;
  }
}

const isDownload = (head: string): boolean => head.startsWith(`[${JSON.stringify(DOWNLOAD)},`);

async function discard(name: string): Promise<void> {
  const file = await TemporaryFile.take(name);
  if (file) await requireGone(file);
  else if (!(await isFree(name))) {
    throw new DecantError('target', 'Another tab is using this part of a disk; it stays', { code: 'storage-in-use' });
  }
}
