// An output in the origin's private file system, as it is written: a temporary file, new or left by an earlier conversion.

import type { DecantError } from '../../errors/errors.js';
import type { TargetSpec } from '../../messages/messages.js';
import type { Kept } from '../../public/types.js';
import { keptError, type ResumePoint, requireSize, type Sizes } from '../output-target.js';
import { askForRoom, heldNames, linesOf, storageFolder, TemporaryFile } from './storage.js';

/** What a conversion has left, which others may hold. */
interface Left {
  name: string;
  resumePoint: ResumePoint;
}

export class StoredOutput {
  #file: TemporaryFile | undefined;
  /** The line that its journal begins with, if it has one. */
  #line: string | undefined;
  resumePoint: ResumePoint | undefined;

  /** `place` is where the output is to go. */
  constructor(private readonly place: string) {}

  /** What was written. */
  get file(): TemporaryFile {
    return this.#file!;
  }

  /** Makes the file, or takes one over. What was kept for the same place goes, where it is `declined`. */
  async prepare(
    { outputSize }: Sizes,
    signal: AbortSignal,
    identity: string | undefined,
    declined: boolean,
  ): Promise<TargetSpec> {
    const head = identity === undefined ? undefined : this.#head(identity);
    this.#line = head;
    if (head !== undefined) await this.#takeOver(head);
    this.#file ??= await TemporaryFile.create(declined ? (head) => this.#isHere(head) : undefined);
    if (outputSize !== undefined) await askForRoom(outputSize, signal);
    const { name } = this.#file;
    const resumePoint = this.resumePoint ?? { guest: 0, written: 0 };
    const spec = { opfs: name, sized: outputSize !== undefined };
    return head === undefined ? spec : { ...spec, resume: { head, resumePoint } };
  }

  /** What was written, if it has `size` bytes. */
  async whole(size: number): Promise<File> {
    const file = await this.file.handle.getFile();
    requireSize(file.size, size);
    return file;
  }

  async discard(_reason: DecantError, keep: boolean): Promise<void> {
    const file = this.#file;
    if (!file) return;
    const lines = keep ? await linesOf(await storageFolder(), file.name).catch(() => undefined) : undefined;
    if (!lines?.resumePoint) {
      await file.remove();
      return;
    }
    file.leave();
    throw keptError();
  }

  /** What a conversion `identity` could go on with. */
  async kept(identity: string): Promise<Kept> {
    const head = this.#head(identity);
    const [best] = await this.#left(head);
    return {
      guestDone: best?.resumePoint.guest ?? 0,
      discard: () => this.#removeLeft(head),
    };
  }

  /** The output is complete: nobody needs what was left for it by others, another tab for instance. */
  async removeOthers(): Promise<void> {
    // What cannot be removed now is swept after a week.
    if (this.#line !== undefined) await this.#removeLeft(this.#line).catch(() => {});
  }

  async #removeLeft(head: string): Promise<void> {
    for (const { name } of await this.#left(head)) await (await TemporaryFile.take(name))?.remove();
  }

  /** The line that a journal begins with. */
  #head(identity: string): string {
    return JSON.stringify([this.place, identity]);
  }

  #isHere(head: string): boolean {
    return head.startsWith(`[${JSON.stringify(this.place)},`);
  }

  async #takeOver(head: string): Promise<void> {
    for (const { name } of await this.#left(head)) {
      const file = await TemporaryFile.take(name);
      if (!file) continue;
      const resumePoint = await certainIn(file).catch(() => undefined);
      if (resumePoint) {
        this.#file = file;
        this.resumePoint = resumePoint;
        return;
      }
      await file.remove();
    }
  }

  /** What conversions with the same line have left, the most first. */
  async #left(head: string): Promise<Left[]> {
    const [files, held] = [await storageFolder(), await heldNames()];
    const left: Left[] = [];
    for await (const name of files.keys()) {
      if (held.has(name)) continue;
      // One that cannot be read is none.
      const lines = await linesOf(files, name).catch(() => undefined);
      if (lines?.head === head && lines.resumePoint) left.push({ name, resumePoint: lines.resumePoint });
    }
    return left.toSorted((a, b) => b.resumePoint.guest - a.resumePoint.guest);
  }
}

/** What its journal says that is there. Somebody may have gone on with it since it was found. */
async function certainIn(file: TemporaryFile): Promise<ResumePoint | undefined> {
  const resumePoint = (await linesOf(await storageFolder(), file.name))?.resumePoint;
  return resumePoint && (await file.handle.getFile()).size >= resumePoint.guest ? resumePoint : undefined;
}
