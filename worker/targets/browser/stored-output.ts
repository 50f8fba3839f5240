// An output in the origin's private file system while it is written: a temporary file, new or left by an earlier conversion.

import { DecantError } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import { FOLDER, JOURNAL } from '../../messages/messages.js';
import type { Leftover } from '../../public/types.browser.js';
import type { SavedProgress } from '../../public/types.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { mostUnsaved } from '../journal-lines.js';
import { busyError, type ResumePoint, requireSize, resumableError, type Sizes } from '../output-target.js';
import { sourceOf } from './entries.js';
import {
  askForRoom,
  firstLine,
  heldNames,
  isFree,
  linesOf,
  storageFolder,
  storageRoot,
  TemporaryFile,
} from './storage.js';

/** Identifies the target of a download. */
export const DOWNLOAD = 'download';

/** A file that an earlier conversion left. Another tab may be using it. */
interface Remains {
  name: string;
  resumePoint: ResumePoint;
}

export class StoredOutput {
  readonly resumes = true;
  readonly readsBack = 'before';
  #file: TemporaryFile | undefined;
  /** The head of its journal, if it has one. */
  #journalHead: string | undefined;
  resumePoint: ResumePoint | undefined;

  /** `target` identifies the target of the output, `image` is the name of the image. */
  constructor(
    private readonly target: string,
    private readonly image?: string,
  ) {}

  /** The temporary file. */
  get file(): TemporaryFile {
    return this.#file!;
  }

  /** Creates the file, or takes over an earlier one. If `declined`, removes saved progress for the same place. */
  async prepare(
    { virtualSize, outputSize }: Sizes,
    signal: AbortSignal,
    identity: string | undefined,
    declined: boolean,
  ): Promise<TargetSpec> {
    const head = identity === undefined ? undefined : this.#head(identity);
    this.#journalHead = head;
    if (head !== undefined) await this.#takeOver(head);
    this.#file ??= await TemporaryFile.create(declined ? (head) => this.#isHere(head) : undefined);
    if (outputSize !== undefined) await askForRoom(outputSize, signal);
    const { name } = this.#file;
    const resumePoint = this.resumePoint ?? { guest: 0, written: 0 };
    const spec = { opfs: name, sized: outputSize !== undefined };
    if (head === undefined) return spec;
    return {
      ...spec,
      resume: { head: firstLine(head, this.image, virtualSize), resumePoint, mostUnsaved: mostUnsaved(virtualSize) },
    };
  }

  /** Resolves to the finished file. Fails unless it has `size` bytes. */
  async whole(size: number): Promise<File> {
    const file = await this.file.handle.getFile();
    requireSize(file.size, size);
    return file;
  }

  /** The finished file as a source. Fails unless it has `size` bytes. */
  async readBack(size: number): Promise<OpenedSource> {
    return sourceOf(await this.whole(size));
  }

  async discard(_reason: DecantError, keep: boolean): Promise<void> {
    const file = this.#file;
    if (!file) return;
    const lines = keep ? await linesOf(await storageFolder(), file.name).catch(() => undefined) : undefined;
    if (!lines?.resumePoint) {
      await requireGone(file);
      return;
    }
    file.leave();
    throw resumableError();
  }

  /** The saved progress of the conversion `identity`. */
  async savedProgress(identity: string): Promise<SavedProgress> {
    const head = this.#head(identity);
    const [best] = await this.#remains(head);
    return {
      guestDone: best?.resumePoint.guest ?? 0,
      discard: () => this.#removeRemains(head),
    };
  }

  /** Removes what other conversions, in another tab for instance, left for the same output, which is complete now. */
  async removeOthers(): Promise<void> {
    // A file that cannot be removed now is swept after a week.
    if (this.#journalHead !== undefined) await this.#removeRemains(this.#journalHead).catch(() => {});
  }

  async #removeRemains(head: string): Promise<void> {
    for (const { name } of await this.#remains(head)) {
      const file = await TemporaryFile.take(name);
      if (file) await requireGone(file);
    }
  }

  /** The head of the journal of the conversion `identity`. */
  #head(identity: string): string {
    return JSON.stringify([this.target, identity]);
  }

  #isHere(head: string): boolean {
    return head.startsWith(`[${JSON.stringify(this.target)},`);
  }

  async #takeOver(head: string): Promise<void> {
    for (const { name } of await this.#remains(head)) {
      const file = await TemporaryFile.take(name);
      if (!file) continue;
      const resumePoint = await resumePointOf(file).catch(() => undefined);
      if (resumePoint) {
        this.#file = file;
        this.resumePoint = resumePoint;
        return;
      }
      await file.remove();
    }
  }

  /** The files that conversions with the same head have left, the one with the most progress first. */
  async #remains(head: string): Promise<Remains[]> {
    const [files, held] = [await storageFolder(), await heldNames()];
    const found: Remains[] = [];
    for await (const name of files.keys()) {
      if (held.has(name)) continue;
      // An unreadable journal is ignored.
      const lines = await linesOf(files, name).catch(() => undefined);
      if (lines?.head === head && lines.resumePoint) found.push({ name, resumePoint: lines.resumePoint });
    }
    return found.toSorted((a, b) => b.resumePoint.guest - a.resumePoint.guest);
  }
}

/** Removes `file`. Fails if it cannot be removed yet. */
async function requireGone(file: TemporaryFile): Promise<void> {
  // A file that cannot be read may still take space.
  const { size } = await file.handle.getFile().catch(() => ({ size: 0 }));
  if (!(await file.remove())) throw busyError(size);
}

/** The resume point of `file`, read again: another tab may have changed it since it was found. */
async function resumePointOf(file: TemporaryFile): Promise<ResumePoint | undefined> {
  const resumePoint = (await linesOf(await storageFolder(), file.name))?.resumePoint;
  return resumePoint && (await file.handle.getFile()).size >= resumePoint.guest ? resumePoint : undefined;
}

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
    const { head, image, diskSize, resumePoint } = lines;
    return {
      kind: isDownload(head) ? 'download' : 'opfs',
      ...(image === undefined ? {} : { image }),
      size: size + lines.size,
      guestDone: resumePoint.guest,
      ...(diskSize === undefined ? {} : { guestTotal: diskSize }),
      discard: () => discard(name),
    };
  } catch {
    // The file was removed since it was listed, or cannot be read.
    return undefined;
  }
}

const isDownload = (head: string): boolean => head.startsWith(`[${JSON.stringify(DOWNLOAD)},`);

async function discard(name: string): Promise<void> {
  const file = await TemporaryFile.take(name);
  if (file) await requireGone(file);
  else if (!(await isFree(name))) {
    throw new DecantError('target', 'Another tab is using this part of a disk, so it was not removed', {
      code: 'storage-in-use',
    });
  }
}
