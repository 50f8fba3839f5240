// A download: a temporary file in the origin's private file system, then a link to it. Once the
// link is out, the file is only ever removed: a change would spoil the download, silently.

import { DecantError } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { Kept, Notice } from '../../public/types.js';
import type { OutputTarget, ResumePoint, Sizes } from '../output-target.js';
import { copyLifetime } from './copy-lifetime.js';
import { mayDownload } from './frame.js';
import type { TemporaryFile } from './storage.js';
import { StoredOutput } from './stored-output.js';

/** The type of a download. Without one, Chromium guesses, and adds the guess's extension to a name that has none. */
const TYPE = 'application/octet-stream';

/** Why no download can be started here, but for the storage; undefined where one can, or where nobody knows. */
export function downloadRefusal(): DecantError | undefined {
  if (typeof document === 'undefined') {
    return new DecantError('usage', 'A download can be started by a page only', { code: 'no-page' });
  }
  if (mayDownload() !== false) return undefined;
  const reason =
    "A download would not arrive: the frame that this page lies in is sandboxed; add 'allow-downloads' to its sandbox";
  return new DecantError('usage', reason, { code: 'sandboxed-downloads' });
}

export class DownloadTarget implements OutputTarget {
  readonly resumes = true;
  /** The name counts at the end only: a disk that was cut off may get another one. */
  readonly #output = new StoredOutput('download');

  constructor(private readonly name: string) {
    const refusal = downloadRefusal();
    if (refusal) throw refusal;
    if (typeof name !== 'string' || name === '') throw new DecantError('usage', 'A download needs a name');
  }

  /** A browser says nothing of a download that it drops. */
  get notices(): readonly Notice[] {
    if (mayDownload() !== undefined) return [];
    const message =
      "If no download appears, the page around this one has sandboxed it: 'allow-downloads' must be in the sandbox";
    return [{ code: 'download-unconfirmed', fields: {}, message }];
  }

  get resumePoint(): ResumePoint | undefined {
    return this.#output.resumePoint;
  }

  prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec> {
    return this.#output.prepare(sizes, signal, identity, false);
  }

  async commit(size: number): Promise<void> {
    const file = await this.#output.whole(size);
    const { file: copy } = this.#output;
    await copy.removeJournal();
    const link = document.createElement('a');
    link.href = URL.createObjectURL(file.slice(0, size, TYPE));
    link.download = this.name;
    link.click();
    await this.#output.removeOthers();
    setTimeout(() => void giveBack(copy, link.href), copyLifetime(size));
  }

  discard(reason: DecantError, keep: boolean): Promise<void> {
    return this.#output.discard(reason, keep);
  }

  kept(identity: string): Promise<Kept> {
    return this.#output.kept(identity);
  }
}

async function giveBack(copy: TemporaryFile, url: string): Promise<void> {
  URL.revokeObjectURL(url);
  // What cannot be removed now is swept when the tab is gone.
  await copy.remove().catch(() => {});
}
