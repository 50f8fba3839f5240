// A download: a temporary file in the origin's private file system, then a link to it. After the click on the link, the file
// may only be removed: a change would silently corrupt the download.

import { DecantError } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { Notice } from '../../public/types.js';
import type { OutputTarget, Sizes } from '../output-target.js';
import { copyExpiry } from './copy-lifetime.js';
import { mayDownload } from './frame.js';
import type { TemporaryFile } from './storage.js';
import { DOWNLOAD, StoredOutput } from './stored-output.js';

/** The type of a download. Without one, Chromium guesses it, and adds an extension to a name without one. */
const TYPE = 'application/octet-stream';

/** Why no download can be started here, apart from storage; undefined if one can, or if that is unknown. */
export function downloadRefusal(): DecantError | undefined {
  if (typeof document === 'undefined') {
    return new DecantError('usage', 'Only a page can start a download', { code: 'no-page' });
  }
  if (mayDownload() !== false) return undefined;
  const reason = "The frame of this page is sandboxed and blocks downloads; add 'allow-downloads' to its sandbox";
  return new DecantError('usage', reason, { code: 'sandboxed-downloads' });
}

export class DownloadTarget extends StoredOutput implements OutputTarget {
  copy: Blob | undefined;
  copyExpires: Date | undefined;

  /** `image` is the name of the image. */
  constructor(
    private readonly name: string,
    image?: string,
  ) {
    // Without the name, which matters only at the end: a resumed download may have another name.
    super(DOWNLOAD, image);
    const refusal = downloadRefusal();
    if (refusal) throw refusal;
    if (typeof name !== 'string' || name === '') throw new DecantError('usage', 'A download needs a name');
  }

  /** A browser does not report a download that it blocks. */
  get notices(): readonly Notice[] {
    if (mayDownload() !== undefined) return [];
    const message = "If no download appears, an outer page has sandboxed this one: its sandbox needs 'allow-downloads'";
    return [{ code: 'download-unconfirmed', fields: {}, message }];
  }

  override prepare(sizes: Sizes, signal: AbortSignal, identity?: string): Promise<TargetSpec> {
    return super.prepare(sizes, signal, identity, false);
  }

  async commit(size: number): Promise<void> {
    const file = await this.whole(size);
    const { file: copy } = this;
    await copy.removeJournal();
    const link = document.createElement('a');
    this.copy = file.slice(0, size, TYPE);
    link.href = URL.createObjectURL(this.copy);
    link.download = this.name;
    link.click();
    await this.removeOthers();
    this.copyExpires = copyExpiry(size);
    setTimeout(() => void giveBack(copy, link.href), this.copyExpires.getTime() - Date.now());
  }
}

async function giveBack(copy: TemporaryFile, url: string): Promise<void> {
  URL.revokeObjectURL(url);
  // If it cannot be removed now, it is swept after the tab is closed.
  await copy.remove().catch(() => {});
}
