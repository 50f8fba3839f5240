// Browsers: refuses an output that is one of the sources.

import { DecantError } from '../errors/errors.js';
import type { OpenedSource } from '../sources/opened-source.js';

/** Fails if `handle` is one of `sources`: with `usage`, or with `source` if the browser has already emptied the file. */
export async function refuseSources(handle: FileSystemFileHandle, sources: OpenedSource[]): Promise<void> {
  const file = await handle.getFile();
  for (const [at, source] of sources.entries()) {
    const match = await source.isFile?.(handle, file);
    if (!match) continue;
    const verb = match === 'certain' ? 'is' : 'is probably';
    const what = `'${handle.name}' ${verb} ${at === 0 ? 'the image itself' : 'a file that the image needs'}`;
    if (file.size > 0 || source.size === 0) throw new DecantError('usage', `${what}; choose another output`);
    throw new DecantError(
      'source',
      `${what}, and the browser's dialog emptied it when it was chosen as the output: its content is lost`,
    );
  }
}
