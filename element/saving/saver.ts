// Saves the disk of an image: asks for the target, then converts.

import { DecantError, leftovers, type OutputFormat, type SavedProgress } from 'decant';
import { shareDone } from '../failures/interrupted.js';
import { describeRemains } from '../failures/remains.js';
import { isNamed, mayBeSame } from '../files/input-file.js';
import {
  downloadName,
  freeNameIn,
  isTaken,
  type NameProblem,
  nameProblem,
  plainName,
  problem,
} from '../files/names.js';
import { nameForOutput, sourcesOf } from '../files/opening.js';
import type { Queue } from '../queue/queue.js';
import { asError, type Screen } from '../steps/screen.js';
import type { Step, Target } from '../steps/state.js';
import { sentence } from '../texts/wording.js';
import { diskChange, fileLength, imagesIn, isTooSmall, takesHours, type Way } from '../ways/choices.js';
import { quickFormat } from '../ways/destinations.js';
import type { Chooser } from './chooser.js';
import { Conversion } from './conversion.js';
import { isSameTarget, keptDownload } from './target.js';

/** Finds the kept part of a download of the image in some format, that of the proposed output first. */
async function keptAmong(ready: Step<'ready'>): Promise<{ output: OutputFormat; kept: SavedProgress } | undefined> {
  const { image, others, name } = ready;
  if (others.length > 0) return undefined;
  for (const output of [ready.output, ...image.formats.filter((format) => format.name !== ready.output.name)]) {
    const kept = output.resumable
      ? await keptDownload(image, downloadName(name), output, diskChange(ready))
      : undefined;
    if (kept && kept.guestDone > 0) return { output, kept };
  }
  return undefined;
}

/** Whether an interrupted download of the image called `name` is still there, and no other tab uses it. */
const isLeft = (name: string | undefined): Promise<boolean> =>
  leftovers().then(
    (found) => found.some(({ image }) => image === name),
    () => false,
  );

/** Whether the browser has refused a dialog because the person's last click is too long ago, as in the middle of a queue. */
const needsClick = (thrown: unknown): boolean =>
  isNamed(thrown, 'SecurityError') && navigator.userActivation?.isActive === false;

export class Saver {
  #conversion: Conversion | undefined;

  constructor(
    private readonly screen: Screen,
    private readonly queue: Queue,
    private readonly chooser: Chooser,
  ) {}

  /** Asks for a folder. If one is picked, it is where the disk is saved. */
  async pickFolder(): Promise<void> {
    const { turn } = this.screen;
    if (this.chooser.ready) await this.#whileChoosing(turn, () => this.#pickFolder(turn));
  }

  /** Asks for the target if necessary, and converts. `isAgreed`: the person knows that the browser checks the file for hours. */
  async convert(way = this.chooser.ready?.way, isAgreed = false): Promise<void> {
    const { ready } = this.chooser;
    if (!ready || !way || isTooSmall(ready)) return;
    const { turn } = this.screen;
    const unusable = nameProblem(ready.name, this.screen.texts) ?? this.#nameTaken(ready.name, way);
    if (unusable) {
      this.chooser.refuseName(turn, unusable);
      return;
    }
    if ((way === 'folder' || way === 'dialog') && !isAgreed && takesHours(ready, way)) {
      const length = fileLength(imagesIn(ready), ready.output, ready.size);
      this.chooser.change(turn, { asking: { kind: 'longCheck', way, length, quick: quickFormat(ready) } });
      return;
    }
    // Workers start while a dialog is open. A failure is ignored here, because the conversion reports it.
    ready.image.prepare().catch(() => {});
    const target = await this.#whileChoosing(turn, () => this.#askForTarget(turn, way, ready));
    if (target && !turn.aborted) await this.#convertTo(target);
  }

  /** Converts although the browser will check the file for hours. */
  async saveAnyway(): Promise<void> {
    const asking = this.chooser.ready?.asking;
    if (asking?.kind === 'longCheck') await this.convert(asking.way, true);
  }

  /** Says that the queue has made a file called `name`. Suggested names are free: only a typed name can be taken. */
  #nameTaken(name: string, way: Way): NameProblem | undefined {
    if (way !== 'folder' && way !== 'download') return undefined;
    const file = way === 'download' ? downloadName(name) : name;
    return isTaken(file, this.queue.madeFiles) ? problem(this.screen.texts.nameMade) : undefined;
  }

  /** Replaces the existing file that the person was asked about. */
  async replace(): Promise<void> {
    const asking = this.chooser.ready?.asking;
    if (asking?.kind !== 'replace') return;
    const { folder, name, there } = asking;
    await this.#convertTo({ kind: 'folder', folder, name, replaces: there });
  }

  /** Saves under a free name instead of replacing the existing file. The name in the text field stays. */
  async useFreeName(): Promise<void> {
    const asking = this.chooser.ready?.asking;
    if (asking?.kind !== 'replace' && asking?.kind !== 'source') return;
    const { folder, freeName: name } = asking;
    const { turn } = this.screen;
    // Another program may have created a file with this name by now.
    const isFree = await this.#whileChoosing(turn, () => this.#isFree(turn, folder, name));
    if (isFree && !turn.aborted) await this.#convertTo({ kind: 'folder', folder, name, replaces: undefined });
  }

  /**
   * Resumes the interrupted download of the image, in whichever format it was, or asks whether to. Says so if there is none. `isListed`:
   * the first screen has shown one of an image with this name.
   */
  async resume(atOnce: boolean, isListed: boolean): Promise<void> {
    const { ready } = this.chooser;
    if (!ready) return;
    const { turn } = this.screen;
    const found = await this.#whileChoosing(turn, () => keptAmong(ready));
    if (turn.aborted) return;
    if (!found) {
      if (!atOnce) return;
      const { texts } = this.screen;
      const isGone = isListed && !(await isLeft(ready.image.info.name));
      if (turn.aborted) return;
      this.screen.announce(
        isGone ? `${sentence(texts.elsewhereTitle)} ${texts.elsewhereHint}` : texts.notResumed(ready.label),
      );
      return;
    }
    const { output, kept } = found;
    if (output.name !== ready.output.name) this.chooser.selectOutput(output);
    this.chooser.select('download');
    const name = downloadName(this.chooser.ready?.name ?? ready.name);
    if (atOnce) await this.#convertTo({ kind: 'stored', name, kept });
    else this.#askToResume(turn, name, kept, ready);
  }

  /** Asks whether to resume an interrupted download. */
  #askToResume(turn: AbortSignal, name: string, kept: SavedProgress, { image }: Step<'ready'>): void {
    const share = shareDone(kept.guestDone, image.info.virtualSize ?? 0);
    this.chooser.change(turn, { asking: { kind: 'resume', name, share, kept } });
  }

  /** Resumes the interrupted download that the person was asked about, or starts over. */
  async download(resumes: boolean): Promise<void> {
    const { ready } = this.chooser;
    if (ready?.asking?.kind !== 'resume') return;
    const { turn } = this.screen;
    const { asking } = ready;
    const { name, kept } = asking;
    const isThere = await this.#whileChoosing(turn, async () => {
      if (resumes)
        return ((await keptDownload(ready.image, name, ready.output, diskChange(ready)))?.guestDone ?? 0) > 0;
      return kept.discard().then(() => true, asError);
    });
    if (turn.aborted) return;
    if (isThere instanceof DecantError) {
      this.chooser.change(turn, { asking });
      this.screen.announce(this.screen.texts.failure(isThere));
      return;
    }
    if (isThere) await this.#convertTo({ kind: 'stored', name, kept });
    else this.chooser.change(turn, { asking: { kind: 'elsewhere', name, kept } });
  }

  /** Starts over a download that another tab has resumed, and leaves the part of that tab alone. */
  async downloadAgain(): Promise<void> {
    const asking = this.chooser.ready?.asking;
    if (asking?.kind === 'elsewhere') await this.#convertTo({ kind: 'stored', name: asking.name, kept: asking.kept });
  }

  cancel(): void {
    if (this.screen.at('converting')) this.#conversion?.cancel();
  }

  /** Lets the browser complete the file in the background. Returns whether it does. */
  leaveToBrowser(): boolean {
    return this.#conversion?.leaveToBrowser() ?? false;
  }

  /** Converts the image that is shown to `target`, and shows the progress and the result. */
  async #convertTo(target: Target): Promise<void> {
    const ready = this.screen.at('ready');
    if (!ready) {
      await this.#tellEmptied(target);
      return;
    }
    this.#conversion = new Conversion(this.screen, this.queue, this.chooser, ready, target);
    await this.#conversion.run();
  }

  /** The image has failed while the save dialog was open: says that the dialog has created or emptied the file. */
  async #tellEmptied(target: Target): Promise<void> {
    if (target.kind !== 'dialog') return;
    const remains = await describeRemains(target, 'nothing', this.screen.texts);
    if (remains) this.screen.announce(remains);
  }

  /** Runs `ask`, which asks for a target. Until it ends, the image and the name cannot be changed. `undefined` if the turn has ended. */
  async #whileChoosing<T>(turn: AbortSignal, ask: () => Promise<T>): Promise<T | undefined> {
    this.chooser.change(turn, { choosingTarget: true, asking: undefined });
    try {
      return await ask();
    } catch (thrown) {
      // Its image is closed, so anything may fail.
      if (turn.aborted) return undefined;
      throw thrown;
    } finally {
      this.chooser.change(turn, { choosingTarget: false });
    }
  }

  /** Finds the target for `way` and the current name. Returns `undefined` if the person must answer a question first. */
  async #askForTarget(turn: AbortSignal, way: Way, ready: Step<'ready'>): Promise<Target | undefined> {
    const { name } = ready;
    if (way === 'dialog') {
      const handle = await this.#pickFile(turn, name, ready.output);
      if (!handle) return undefined;
      const target: Target = { kind: 'dialog', handle, name: handle.name };
      return (await this.#isChecked(turn, target)) ? undefined : target;
    }
    if (way === 'folder') {
      const folder = ready.folder ?? (await this.#pickFolder(turn));
      if (!folder || turn.aborted || !(await this.#isFree(turn, folder, name))) return undefined;
      return { kind: 'folder', folder, name, replaces: undefined };
    }
    if (way === 'host') return { kind: 'host', name };
    return this.#askForDownload(turn, way, ready);
  }

  /** As {@link #askForTarget}, for a download. */
  async #askForDownload(turn: AbortSignal, way: Way, ready: Step<'ready'>): Promise<Target | undefined> {
    const name = downloadName(ready.name);
    const kept = await this.chooser.findKept(turn, ready);
    // The person may have chosen another way in the meantime.
    const now = this.screen.at('ready');
    if (now && now.way !== way) return undefined;
    if (kept && kept.guestDone > 0) {
      // The kept part already has its room in the storage.
      this.#askToResume(turn, name, kept, ready);
      return undefined;
    }
    const method = ready.choices.find((choice) => choice.way === 'download')?.method;
    return method === 'streamed' ? { kind: 'streamed', name } : { kind: 'stored', name, kept };
  }

  /** Whether the browser checks the file at `target` in the background. If so, says so. */
  async #isChecked(turn: AbortSignal, target: Target): Promise<boolean> {
    const same = await Promise.all(this.queue.checks.map(({ state }) => isSameTarget(state.target, target)));
    if (!same.includes(true)) return false;
    this.chooser.refuseName(turn, problem(this.screen.texts.nameChecked));
    return true;
  }

  /** Whether `folder` has no file called `name`. If there is one, asks the person what to do. */
  async #isFree(turn: AbortSignal, folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
    if (await this.#isChecked(turn, { kind: 'folder', folder, name, replaces: undefined })) return false;
    try {
      const handle = await folder.getFileHandle(name);
      const sources = sourcesOf(this.screen.opening!);
      const there = { file: await handle.getFile(), handle };
      const same = await Promise.all(sources.map((source) => mayBeSame(there, source)));
      const taken = [...sources.map(({ file }) => file.name), ...this.queue.taken.map(({ file }) => file)];
      const freeName = await freeNameIn(folder, this.#unnumbered(name), taken);
      const asked = { folder, name, freeName };
      this.chooser.change(turn, {
        asking: same.includes(true) ? { kind: 'source', ...asked } : { kind: 'replace', ...asked, there: there.file },
      });
      return false;
    } catch (thrown) {
      return this.#isFreeAfter(turn, thrown);
    }
  }

  /** Whether `thrown` means that there is no file of the name. Otherwise says why none can be written. */
  #isFreeAfter(turn: AbortSignal, thrown: unknown): boolean {
    const { texts } = this.screen;
    if (isNamed(thrown, 'NotFoundError')) return true;
    if (isNamed(thrown, 'TypeMismatchError')) this.chooser.refuseName(turn, problem(texts.folderOfName));
    else if (thrown instanceof TypeError) this.chooser.refuseName(turn, problem(texts.nameRefused));
    else {
      // The permission or the folder itself is gone.
      this.chooser.folder = undefined;
      this.chooser.change(turn, { folder: undefined, asking: { kind: 'noFolder' } });
    }
    return false;
  }

  /** The name to number instead of `name`: the typed one, or the suggested one without its number. */
  #unnumbered(name: string): string {
    const { opening } = this.screen;
    const ready = this.screen.at('ready');
    if (!opening || !ready) return name;
    return opening.outputName ?? plainName(nameForOutput(opening, ready.image.info), ready.output.extension);
  }

  /** Opens a dialog of the browser. Returns `undefined` if the dialog was closed or refused. */
  async #whilePicking<T>(
    turn: AbortSignal,
    way: 'folder' | 'dialog',
    dialog: () => Promise<T>,
  ): Promise<T | undefined> {
    const before = this.screen.at('ready')?.way;
    this.chooser.change(turn, { picking: true });
    try {
      const picked = await dialog();
      this.chooser.change(turn, { picking: false });
      return picked;
    } catch (thrown) {
      const isSame = this.screen.at('ready')?.way === before;
      this.chooser.change(turn, { picking: false });
      if (!isNamed(thrown, 'AbortError') && !needsClick(thrown)) this.chooser.refuseDialog(turn, way);
      // No question if a folder was picked before, or if the person has chosen another way in the meantime.
      else if (isSame && way === 'folder' && !this.chooser.folder)
        this.chooser.change(turn, { asking: { kind: 'noFolder' } });
      return undefined;
    }
  }

  async #pickFolder(turn: AbortSignal): Promise<FileSystemDirectoryHandle | undefined> {
    const pick = () => showDirectoryPicker({ id: 'decant', mode: 'readwrite' });
    const folder = await this.#whilePicking(turn, 'folder', pick);
    if (folder) this.chooser.useFolder(turn, folder);
    return folder;
  }

  async #pickFile(turn: AbortSignal, name: string, output: OutputFormat): Promise<FileSystemFileHandle | undefined> {
    const { label, extension } = output;
    const types = [{ description: label, accept: { 'application/octet-stream': [extension] } }];
    return this.#whilePicking(turn, 'dialog', () => showSaveFilePicker({ id: 'decant', suggestedName: name, types }));
  }
}
