// Opens an image: asks for the files and passwords that it needs, then describes it.

import {
  type AnyImage,
  type DecantError,
  type DiskImage,
  type Layer,
  type Need,
  open,
  type Progress,
  type Waiting,
} from 'decant';
import { fail, reopened } from '../failures/failure.js';
import { folded, isSameName, labelOf } from '../files/bundle.js';
import { type InputFile, isSame, mayBeSame, sourceOf, without } from '../files/input-file.js';
import {
  allOf,
  beginOpening,
  type DiskOpening,
  isById,
  isMissing,
  type Opening,
  openingOptions,
  sourcesOf,
} from '../files/opening.js';
import { claim, enqueueImages, type Queue } from '../queue/queue.js';
import type { Chooser } from '../saving/chooser.js';
import { asError, type Screen } from '../steps/screen.js';
import type { Remedy, Step } from '../steps/state.js';
import type { MissingFile } from '../types.texts.js';
import { doubtsAbout } from './doubts.js';

/** After this time the page says that opening takes long, in milliseconds. */
const SLOW = 15_000;

/** The largest window of a compressed file that is decoded without a question, in bytes of memory. */
const UNASKED_WINDOW = 512 << 20;

/** The memory that decoding a compressed file takes for its window, in bytes; 0 unless it is large. */
const windowOf = ({ info }: AnyImage): number =>
  Number(info.safety.find(({ code }) => code === 'large-window')?.fields.size ?? 0);

/** Whether the person must allow `window` bytes of memory to decode the file of `opening`. */
const mustAsk = (window: number, { mayBeLarge }: Opening): boolean => window > UNASKED_WINDOW && !mayBeLarge;

/** The answer to the last question, if it is not known to be right. */
function unconfirmed({ answers }: Opening) {
  const last = answers.at(-1);
  return last && !last.confirmed ? last : undefined;
}

export class Opener {
  /** Whether the person has agreed to unpack an image: the others are unpacked without a question. */
  #mayUnpack = false;

  constructor(
    private readonly screen: Screen,
    private readonly queue: Queue,
    private readonly chooser: Chooser,
  ) {}

  /** Opens the image `id` of the queue, or the next one; with `remedy`, as the person has chosen after its failure. */
  async openNext(id?: number, remedy?: Remedy): Promise<void> {
    this.chooser.placeSearch = '';
    const item = this.queue.take(id, this.screen.opening);
    if (!item) return;
    const opening = { ...(item.opening ?? beginOpening(item.bundle)), missing: [] };
    await this.open(remedy ? reopened(remedy, opening) : opening);
  }

  /** Opens the image. Shows `notice` if the image still needs a file or a password. */
  async open(opening: Opening, notice?: string): Promise<void> {
    const turn = this.screen.begin('chosen', { name: labelOf(opening.bundle) }, opening);
    this.#watchTime(turn);
    try {
      const image = await this.#read(opening, turn);
      if (turn.aborted) {
        await image.close();
        return;
      }
      this.screen.hold(image, opening);
      await this.#proceed(image, opening, turn, notice);
    } catch (thrown) {
      if (!turn.aborted) await this.#recover(asError(thrown), opening, turn, notice);
    }
  }

  /** Says that the opening is slow if it takes long. */
  #watchTime(turn: AbortSignal): void {
    const slow = setTimeout(() => this.screen.update(turn, 'opening', { isSlow: true }), SLOW);
    turn.addEventListener('abort', () => clearTimeout(slow));
  }

  /** Opens the file of `opening` by the package, and shows the progress. */
  async #read(opening: Opening, turn: AbortSignal): Promise<AnyImage> {
    const name = labelOf(opening.bundle);
    const onWaiting = (waiting: Waiting | undefined) => this.screen.wait(turn, waiting);
    const onProgress = ({ phase, fraction }: Progress) => {
      if (phase === 'measuring') this.screen.send(turn, 'reading', { name, share: fraction });
      if (phase === 'unpacking') this.screen.send(turn, 'unpacking', { name, share: fraction });
    };
    const links = sourcesOf(opening).flatMap(({ link }) => link ?? []);
    for (const link of links) link.onWaiting = onWaiting;
    return open(await sourceOf(opening.top, turn), {
      signal: turn,
      ...(links.length > 0 ? { onWaiting } : {}),
      onProgress,
      ...(await openingOptions(opening, turn)),
    });
  }

  /** After `error`: asks the person, opens the image in another way, or shows the failure. */
  async #recover(error: DecantError, opening: Opening, turn: AbortSignal, notice: string | undefined): Promise<void> {
    if (this.#askForDisks(error, opening, turn)) return;
    if (error.code === 'needs-spool' && !opening.spool) return this.#askToUnpack(error, opening, turn, notice);
    if (unconfirmed(opening)) return this.#openWithoutLast(error, opening, turn);
    const once = opening.companions.filter((input) => !opening.repeated.includes(input));
    if (error.kind === 'usage' && once.length < opening.companions.length) {
      // Two files that fit one name may be one file that was given twice: the later one is used.
      return this.open({ ...opening, companions: once, repeated: [] }, notice);
    }
    await fail(this.screen, this.queue, turn, error, this.screen.texts.notOpened(labelOf(opening.bundle)));
  }

  /** Asks which disks to convert, if `error` lists them. Returns whether it does. */
  #askForDisks(error: DecantError, opening: Opening, turn: AbortSignal): boolean {
    const { kind, code, fields } = error;
    const isUnknown = kind === 'usage' && code === 'no-image';
    const isChoice = isUnknown || code === 'missing-file' || (kind === 'usage' && code === 'several-images');
    if (!isChoice || !fields.disks) return false;
    const { disks, snapshots = [], machine = labelOf(opening.bundle) } = fields;
    const isArchive = fields.container !== undefined;
    const notice = isArchive && code === 'missing-file' ? this.screen.texts.failure(error) : undefined;
    this.screen.send(turn, 'disksListed', { name: String(machine), disks, isArchive, snapshots, isUnknown, notice });
    return true;
  }

  /** Asks whether to unpack the image, unless the person has agreed before. Asks about a large amount of memory first. */
  async #askToUnpack(error: DecantError, opening: Opening, turn: AbortSignal, notice?: string): Promise<void> {
    const name = labelOf(opening.bundle);
    const { window = 0, format, size } = error.fields;
    if (mustAsk(Number(window), opening)) this.screen.send(turn, 'memoryNeeded', { name, size: Number(window) });
    else if (this.#mayUnpack) await this.open({ ...opening, spool: true }, notice);
    else this.screen.send(turn, 'unpackingNeeded', { name, format: String(format), size: Number(size) || undefined });
  }

  /** Opens the image without the last answer: it could be opened before that file was given. */
  async #openWithoutLast(error: DecantError, opening: Opening, turn: AbortSignal): Promise<void> {
    const { texts } = this.screen;
    const { input } = unconfirmed(opening)!;
    const isImage = await mayBeSame(input, opening.top);
    if (turn.aborted) return;
    const notice = isImage ? texts.probablyTheImage(input.file.name) : texts.failure(error);
    await this.open({ ...opening, answers: opening.answers.slice(0, -1) }, notice);
  }

  /** Opens the image again, to unpack it into the browser's storage. */
  async unpack(): Promise<void> {
    this.#mayUnpack = true;
    const { opening } = this.screen;
    if (opening) await this.open({ ...opening, spool: true });
  }

  /** Opens the image again, which takes much memory to decode. */
  async allowMemory(): Promise<void> {
    const { opening } = this.screen;
    if (opening) await this.open({ ...opening, mayBeLarge: true });
  }

  /** The files that the image needs. While it is opened again with more files: those that it needed before. */
  get missing(): MissingFile[] {
    const asked = this.screen.at('needs');
    if (asked) return asked.doubt ? [asked.doubt.need] : asked.needs.filter(isMissing);
    return this.screen.at('opening') ? (this.screen.opening?.missing ?? []) : [];
  }

  /** Whether new files are for the image that is shown, because it needs some. */
  get asksForFile(): boolean {
    return this.missing.length > 0;
  }

  /** Opens the image again with more files, which are matched by their names and content. */
  async take(files: InputFile[]): Promise<void> {
    const { opening } = this.screen;
    if (!opening) return;
    const others = await without(opening.companions, files, isSame);
    const distinct = await without(others, files, mayBeSame);
    const { missing } = this;
    const now = this.screen.opening;
    if (now !== opening) {
      // The person has already given other files in the meantime. These are added to them, or queued if another image is open.
      if (now?.bundle === opening.bundle && missing.length > 0) await this.take(files);
      else this.#queueImages(files);
      return;
    }
    // The new files replace one that is in doubt.
    const isInDoubt = this.screen.at('needs')?.doubt !== undefined;
    const answers = isInDoubt ? opening.answers.filter(({ confirmed }) => confirmed) : opening.answers;
    const repeated = [...opening.repeated, ...others.filter((input) => !distinct.includes(input))];
    const more = { ...opening, answers, missing, companions: [...others, ...files], repeated };
    const named = missing.some((need) => files.some(({ file }) => isSameName(file.name, need.fileName)));
    const { texts } = this.screen;
    const names = files.map(({ file }) => file.name);
    const notice = missing.some(isById) ? texts.notTheDisk(names) : texts.notTheFile(names);
    await this.open(more, named || missing.length === 0 ? undefined : notice);
    if (!this.screen.at('needs')?.notice || this.screen.opening !== more) return;
    // A disk that is identified by an ID is never replaced by another file: its ID would differ.
    if (files.length === 1 && !missing.some(isById))
      this.screen.update(this.screen.turn, 'needs', { offered: files[0] });
  }

  /** Uses `input` for `need`. If `confirmed`, doubts about the file are ignored. */
  async answer(need: MissingFile, input: InputFile, confirmed = false): Promise<void> {
    const { opening } = this.screen;
    if (!opening) return;
    const others = opening.answers.filter((answer) => answer.need.name !== need.name);
    await this.open({ ...opening, missing: this.missing, answers: [...others, { need, input, confirmed }] });
  }

  /** Removes the file that was given for `need`. */
  async takeBack(need: MissingFile): Promise<void> {
    const { opening } = this.screen;
    if (!opening) return;
    const others = opening.answers.filter((answer) => answer.need.name !== need.name);
    await this.open({ ...opening, missing: this.missing, answers: others });
  }

  /** Asks for what the image still needs, or unlocks and describes it. */
  async #proceed(image: AnyImage, opening: Opening, turn: AbortSignal, notice: string | undefined): Promise<void> {
    if (await this.#doubtLast(image, opening, turn, notice)) return;
    const { needs } = image.info;
    if (needs.some(isMissing)) return this.#askForFiles(image, opening, turn, notice);
    const surplus = surplusOf(image, opening);
    if (surplus.length > 0) return this.#openWithout(surplus, opening, turn);
    if (needs.length > 0 && opening.passwords.isEmpty) this.screen.send(turn, 'answerNeeded', needed(image, notice));
    else if (mustAsk(windowOf(image), opening))
      this.screen.send(turn, 'memoryNeeded', { name: labelOf(opening.bundle), size: windowOf(image) });
    else if (image.streamed) await this.#describe(opening, turn);
    else await this.#unlock(image, opening, turn);
  }

  /** Shows doubts about the file of the last answer. Returns whether there are any, or the turn is over. */
  async #doubtLast(image: AnyImage, opening: Opening, turn: AbortSignal, notice?: string): Promise<boolean> {
    const last = unconfirmed(opening);
    if (!last) return false;
    const reasons = await doubtsAbout(last, opening.top, image, this.screen.texts, turn);
    if (turn.aborted) return true;
    if (reasons.length === 0) {
      last.confirmed = true;
      return false;
    }
    const doubt = { need: last.need, input: last.input, reasons };
    this.screen.send(turn, 'answerNeeded', { ...needed(image, notice), doubt });
    return true;
  }

  /** Takes the missing files out of the queue, or asks for them. */
  async #askForFiles(image: AnyImage, opening: Opening, turn: AbortSignal, notice?: string): Promise<void> {
    const missing = image.info.needs.filter(isMissing);
    const names = missing.flatMap((need) => namesOf(need, image));
    const waiting = claim(names, this.queue, this.screen);
    // The notice is about a file that was asked for before.
    const isAskedAgain = missing.some((need) => opening.missing.some(({ name }) => name === need.name));
    if (waiting.length > 0) await this.open({ ...opening, companions: [...opening.companions, ...waiting] }, notice);
    else this.screen.send(turn, 'answerNeeded', needed(image, isAskedAgain ? notice : undefined));
  }

  /** Opens the image without `surplus`, files that it does not use. Those that are other images are queued. */
  async #openWithout(surplus: InputFile[], opening: Opening, turn: AbortSignal): Promise<void> {
    const others = await newAmong(surplus, opening);
    if (turn.aborted) return;
    if (others.length > 0) this.#queueImages(others);
    const rest = (files: InputFile[]) => files.filter((input) => !surplus.includes(input));
    await this.open({ ...opening, companions: rest(opening.companions), repeated: rest(opening.repeated) });
  }

  #queueImages(files: InputFile[]): void {
    this.screen.run(enqueueImages(files, this.queue, this.screen));
  }

  /** Unlocks the image and describes it, or asks for the password of a layer that is still locked. */
  async #unlock(image: DiskImage, opening: Opening, turn: AbortSignal): Promise<void> {
    const { passwords } = opening;
    const name = image.info.name ?? this.screen.texts.image;
    try {
      const onProgress = ({ fraction: share = 0 }: Progress) => this.screen.send(turn, 'unlocking', { name, share });
      await image.unlock({ signal: turn, onProgress });
    } catch (thrown) {
      const error = asError(thrown);
      if (error.kind !== 'password') throw thrown;
      const { lastAsked } = passwords;
      // A password that was given for another layer is not called wrong.
      const isWrong = !lastAsked || passwords.has(lastAsked.name);
      const notice = isWrong ? this.screen.texts.failure(error) : undefined;
      this.screen.send(turn, 'answerNeeded', needed(image, notice, lastAsked));
      return;
    }
    await this.#describe(opening, turn);
  }

  /** Describes the image, which needs nothing more. Opens the other images for the same file first, and describes all. */
  async #describe(opening: Opening, turn: AbortSignal): Promise<void> {
    if (turn.aborted) return;
    const all = allOf(opening);
    const next = all.find((one) => !this.screen.imageOf(one));
    if (next) return this.#openBeside(next, opening);
    const [image, ...others] = all.flatMap((one) => this.screen.imageOf(one) ?? []);
    if (image) await this.chooser.describe([image, ...others], turn);
  }

  /** Opens the image of `next`, whose disk goes into the output file of `opening`. Keeps the name of that file. */
  async #openBeside(next: DiskOpening, opening: Opening, beside = opening.beside): Promise<void> {
    const { outputName, wasFull } = opening;
    const file = { ...(outputName === undefined ? {} : { outputName }), ...(wasFull === undefined ? {} : { wasFull }) };
    // The disks of a machine often share a password.
    const passwords = next.passwords.isEmpty ? opening.passwords.forOther() : next.passwords;
    const others = [opening, ...beside.filter((one) => one !== next)];
    await this.open({ ...next, ...file, passwords, missing: [], beside: others });
  }

  /** Opens the other disks of the archive or machine, to convert all to one file. */
  async openTogether(): Promise<void> {
    const { opening } = this.screen;
    const [next, ...others] = this.queue.join();
    if (!opening || !next) return;
    this.chooser.placeSearch = '';
    // A name that was typed is that of one disk.
    delete opening.outputName;
    delete next.outputName;
    await this.#openBeside(next, opening, others);
  }
}

/** Asks for the files that `image` lacks, or else for the password of `locked`: by default the first encrypted layer. */
function needed(image: AnyImage, notice: string | undefined, locked?: Layer): Omit<Step<'needs'>, 'step'> {
  const { needs, layers } = image.info;
  // Files come first, because they may add layers to unlock.
  const missing = needs.filter(isMissing);
  const layer = locked ?? layers.find(({ encryption }) => encryption !== undefined);
  const password: Need[] = layer ? [{ kind: 'password', of: layer.name }] : [];
  return {
    image,
    needs: missing.length > 0 ? missing : password,
    notice,
    offered: undefined,
    doubt: undefined,
    // Only the old AES method cannot check a password.
    canAssume: notice !== undefined && missing.length === 0 && layer?.encryption === 'aes',
  };
}

/** Names by which the queue can find the needed file: the folded file name, and the ID that the image expects. */
const namesOf = ({ name, fileName }: MissingFile, { info }: AnyImage): string[] => [
  folded(fileName),
  ...info.references.flatMap((reference) =>
    reference.name === name && reference.identity ? [reference.identity.id] : [],
  ),
];

/** Lists the files that were given for the image later, and that it does not use. */
function surplusOf({ info }: AnyImage, { bundle, companions }: Opening): InputFile[] {
  const count = (names: readonly string[], name: string) => names.filter((one) => one === name).length;
  const names = companions.map(({ file }) => file.name);
  return companions.filter((input) => {
    const { name } = input.file;
    // One of two files with the same name may be needed, so both stay.
    const isUnused = count(info.unusedCompanions, name) === count(names, name);
    return isUnused && !bundle.companions.includes(input);
  });
}

/** Filters `surplus` for files that are not copies of other files of the image and were not given twice. */
function newAmong(surplus: InputFile[], { top, bundle, answers, repeated }: Opening): Promise<InputFile[]> {
  const stays = (input: InputFile) => !surplus.includes(input);
  const before = [top, ...bundle.companions, ...answers.map(({ input }) => input), ...repeated.filter(stays)];
  const once = surplus.filter((input) => !repeated.includes(input));
  return without(once, before, mayBeSame);
}
