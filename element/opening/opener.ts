// Opens an image: asks for the files and passwords that it needs, then describes it.

import { type AnyImage, type Image, type Layer, type Need, open, type Progress, type Waiting } from 'decant';
import { contentsOf } from 'decant/contents';
import { asError } from '../errors.js';
import { isSameName, labelOf } from '../files/bundle.js';
import { diskSize } from '../files/image-info.js';
import { type Given, isSame, mayBeSame, sourceOf, without } from '../files/input-file.js';
import { isById, isMissing, nameForOutput, type Opening, openingOptions, sourcesOf } from '../files/opening.js';
import { DiskPicture } from '../picture/disk-picture.js';
import { keptDownload } from '../saving/place.js';
import type { Stage } from '../steps/stage.js';
import type { FileNeed, Step } from '../steps/state.js';
import { listChoices, type Survey, selectWay, type Way } from '../ways/choices.js';
import { type Destination, destinationsOf, proposed, rememberedPlace } from '../ways/destinations.js';
import { type Environment, explore, newEnvironment } from '../ways/environment.js';
import { suggestName } from '../ways/names.js';
import { doubtsAbout } from './doubts.js';

/** How long a proposal waits for the map and the browser, in milliseconds. Afterwards it uses what is known. */
const PROPOSAL_TIMEOUT = 2000;
/** How long the description of an image waits for the places, in milliseconds. */
const PLACES_TIMEOUT = 500;
/** How long an opening takes before that is called slow, in milliseconds. */
const SLOW = 15_000;
/** The interval at which a survey is shown while the map is read, in milliseconds. */
const SURVEY_TICK = 100;

/** The memory for the window of a compressed file that is taken without a question, in bytes. */
const UNASKED_WINDOW = 512 << 20;

/** The memory for the window of a compressed file, in bytes, if it is large. */
const windowOf = ({ info }: AnyImage): number =>
  Number(info.safety.find(({ code }) => code === 'large-window')?.fields.size ?? 0);

/** Whether the person must allow `window` bytes of memory to decode the file of `opening`. */
const mustAsk = (window: number, { mayBeLarge }: Opening): boolean => window > UNASKED_WINDOW && !mayBeLarge;

export class Opener {
  opening: Opening | undefined;
  environment: Environment | undefined;
  /** The way and the folder that the person has chosen; kept for the next image. */
  way: Way | undefined;
  folder: FileSystemDirectoryHandle | undefined;
  /** The name of the output format that the person has chosen instead of a place; kept for the next image. */
  format: string | undefined;
  /** The name of the place that was chosen last. */
  place = rememberedPlace();
  #destinations: Destination[] = [];
  #placesProblem: string | undefined;
  /** Whether the person has agreed to unpack an image: the others are unpacked without a question. */
  #mayUnpack = false;

  constructor(
    private readonly stage: Stage,
    /** Shows a failure, unless the turn is over. */
    private readonly failed: (turn: AbortSignal, thrown: unknown, title: string) => Promise<void>,
    /** Takes files that were given for an image and do not belong to it. */
    private readonly sortOut: (files: Given[]) => void,
    /** Removes files with one of these names or IDs from the queue, and returns them. */
    private readonly claim: (names: string[]) => Given[],
    /** The names of the files that the queue has made. */
    readonly made: () => readonly string[],
  ) {}

  /** Opens the image. Shows `notice` if the image still needs a file or a password. */
  async open(opening: Opening, notice?: string): Promise<void> {
    const name = labelOf(opening.bundle);
    const { texts } = this.stage;
    const turn = this.stage.begin({ step: 'opening', name });
    this.opening = opening;
    const slow = setTimeout(() => {
      if (this.stage.state.step === 'opening') this.stage.show(turn, { ...this.stage.state, isSlow: true });
    }, SLOW);
    turn.addEventListener('abort', () => clearTimeout(slow));
    const onWaiting = (waiting: Waiting | undefined) => this.stage.wait(turn, waiting);
    const onProgress = ({ phase, fraction }: Progress) =>
      this.stage.show(turn, { step: phase === 'measuring' ? 'opening' : 'unpacking', name, share: fraction });
    const links = sourcesOf(opening).flatMap(({ link }) => link ?? []);
    for (const link of links) link.onWaiting = onWaiting;
    try {
      const image = await open(await sourceOf(opening.top, turn), {
        signal: turn,
        ...(links.length > 0 ? { onWaiting } : {}),
        onProgress,
        ...(await openingOptions(opening, turn)),
      });
      if (turn.aborted) {
        await image.close();
        return;
      }
      this.stage.hold(image);
      await this.#proceed(image, opening, turn, notice);
    } catch (thrown) {
      if (turn.aborted) return;
      const { kind, code, fields } = asError(thrown);
      const isUnknown = kind === 'usage' && code === 'no-image';
      const isChoice = isUnknown || code === 'missing-file' || (kind === 'usage' && code === 'several-images');
      if (isChoice && fields.disks) {
        const { disks, snapshots = [], machine = name } = fields;
        // A disk that is missing in an archive is not in the list.
        const isInArchive = code === 'missing-file' && !disks.some(({ missing }) => missing);
        const notice = isInArchive ? texts.failure(asError(thrown)) : undefined;
        this.stage.show(turn, { step: 'disks', name: String(machine), disks, snapshots, isUnknown, notice });
        return;
      }
      if (code === 'needs-spool' && !opening.spool) {
        const { window = 0 } = fields;
        if (mustAsk(Number(window), opening)) this.stage.show(turn, { step: 'large', name, size: Number(window) });
        else if (this.#mayUnpack) await this.open({ ...opening, spool: true }, notice);
        else
          this.stage.show(turn, {
            step: 'packed',
            name,
            format: String(fields.format),
            size: Number(fields.size) || undefined,
          });
        return;
      }
      const last = opening.answers.at(-1);
      const once = opening.companions.filter((given) => !opening.repeated.includes(given));
      if (last && !last.confirmed) {
        // The image could be opened without this file.
        const unanswered = { ...opening, answers: opening.answers.slice(0, -1) };
        const isImage = await mayBeSame(last.given, opening.top);
        if (turn.aborted) return;
        const { name } = last.given.file;
        await this.open(unanswered, isImage ? texts.probablyTheImage(name) : texts.failure(asError(thrown)));
      } else if (kind === 'usage' && once.length < opening.companions.length) {
        // Two files that fit one name may be one file that was given twice: the later one is used.
        await this.open({ ...opening, companions: once, repeated: [] }, notice);
      } else {
        await this.failed(turn, thrown, texts.notOpened(name));
      }
    }
  }

  /** Opens the image again, to unpack it into the browser's storage. */
  async unpack(): Promise<void> {
    this.#mayUnpack = true;
    if (this.opening) await this.open({ ...this.opening, spool: true });
  }

  /** Opens the image again, which takes much memory to decode. */
  async allowMemory(): Promise<void> {
    if (this.opening) await this.open({ ...this.opening, mayBeLarge: true });
  }

  /** The files that the image needs. While it is opened again with more files: those that it needed before. */
  get missing(): FileNeed[] {
    const { state } = this.stage;
    if (state.step === 'needs') return state.doubt ? [state.doubt.need] : state.needs.filter(isMissing);
    return state.step === 'opening' ? (this.opening?.missing ?? []) : [];
  }

  /** Opens the image again with more files, which are matched by their names and content. */
  async take(files: Given[]): Promise<void> {
    const { opening } = this;
    if (!opening) return;
    const others = await without(opening.companions, files, isSame);
    const distinct = await without(others, files, mayBeSame);
    const { missing } = this;
    if (this.opening !== opening) {
      // The person has already given other files in the meantime. These are added to them, or queued if another image is open.
      if (this.opening?.bundle === opening.bundle && missing.length > 0) await this.take(files);
      else this.sortOut(files);
      return;
    }
    const { state: asked } = this.stage;
    // The new files replace one that is in doubt.
    const isInDoubt = asked.step === 'needs' && asked.doubt !== undefined;
    const answers = isInDoubt ? opening.answers.filter(({ confirmed }) => confirmed) : opening.answers;
    const repeated = [...opening.repeated, ...others.filter((given) => !distinct.includes(given))];
    const more = { ...opening, answers, missing, companions: [...others, ...files], repeated };
    const named = missing.some((need) => files.some(({ file }) => isSameName(file.name, need.fileName)));
    const { texts } = this.stage;
    const names = files.map(({ file }) => file.name);
    const notice = missing.some(isById) ? texts.notTheDisk(names) : texts.notTheFile(names);
    await this.open(more, named || missing.length === 0 ? undefined : notice);
    const { state } = this.stage;
    if (state.step !== 'needs' || this.opening !== more || !state.notice) return;
    // The disk with an ID is never one with another ID.
    if (files.length === 1 && !missing.some(isById)) {
      this.stage.show(this.stage.turn, { ...state, offered: files[0] });
    }
  }

  /** Uses `given` for `need`. If `confirmed`, doubts about the file are ignored. */
  async answer(need: FileNeed, given: Given, confirmed = false): Promise<void> {
    const { opening } = this;
    if (!opening) return;
    const others = opening.answers.filter((answer) => answer.need.name !== need.name);
    await this.open({ ...opening, missing: this.missing, answers: [...others, { need, given, confirmed }] });
  }

  /** Removes the file that was given for `need`. */
  async takeBack(need: FileNeed): Promise<void> {
    const { opening } = this;
    if (!opening) return;
    const others = opening.answers.filter((answer) => answer.need.name !== need.name);
    await this.open({ ...opening, missing: this.missing, answers: others });
  }

  async #proceed(image: AnyImage, opening: Opening, turn: AbortSignal, notice: string | undefined): Promise<void> {
    const last = opening.answers.at(-1);
    if (last && !last.confirmed) {
      const reasons = await doubtsAbout(last, opening.top, image, this.stage.texts, turn);
      if (turn.aborted) return;
      if (reasons.length > 0) {
        const doubt = { need: last.need, given: last.given, reasons };
        this.stage.show(turn, { ...this.#asking(image, notice), doubt });
        return;
      }
      last.confirmed = true;
    }
    const { needs } = image.info;
    const missing = needs.filter(isMissing);
    if (missing.length > 0) {
      const waiting = this.claim(missing.flatMap((need) => namesOf(need, image)));
      // The notice is about a file that was asked for before.
      const isAskedAgain = missing.some((need) => opening.missing.some(({ name }) => name === need.name));
      if (waiting.length > 0) await this.open({ ...opening, companions: [...opening.companions, ...waiting] }, notice);
      else this.stage.show(turn, this.#asking(image, isAskedAgain ? notice : undefined));
      return;
    }
    const surplus = surplusOf(image, opening);
    if (surplus.length > 0) {
      const others = await newAmong(surplus, opening);
      if (turn.aborted) return;
      if (others.length > 0) this.sortOut(others);
      const rest = (files: Given[]) => files.filter((given) => !surplus.includes(given));
      await this.open({ ...opening, companions: rest(opening.companions), repeated: rest(opening.repeated) });
    } else if (needs.length > 0 && opening.passwords.isEmpty) {
      this.stage.show(turn, this.#asking(image, notice));
    } else if (mustAsk(windowOf(image), opening)) {
      this.stage.show(turn, { step: 'large', name: labelOf(opening.bundle), size: windowOf(image) });
    } else if (image.streamed) {
      await this.#describe(image, turn);
    } else {
      await this.#unlock(image, opening, turn);
    }
  }

  /** Unlocks the image and describes it, or asks for the password of a layer that is still locked. */
  async #unlock(image: Image, { passwords }: Opening, turn: AbortSignal): Promise<void> {
    const name = image.info.name ?? this.stage.texts.image;
    try {
      await image.unlock({
        signal: turn,
        onProgress: (share) => this.stage.show(turn, { step: 'unlocking', name, share }),
      });
    } catch (thrown) {
      const error = asError(thrown);
      if (error.kind !== 'password') throw thrown;
      const { asked } = passwords;
      // A password that was given for another layer is not called wrong.
      const isWrong = !asked || passwords.has(asked.name);
      this.stage.show(turn, this.#asking(image, isWrong ? this.stage.texts.failure(error) : undefined, asked));
      return;
    }
    if (!turn.aborted) await this.#describe(image, turn);
  }

  /** Asks for the missing files; without any, for the password of `locked`, by default the first encrypted layer. */
  #asking(image: AnyImage, notice: string | undefined, locked?: Layer): Step<'needs'> {
    const { needs, layers } = image.info;
    // Files come first, because they may add layers to unlock.
    const missing = needs.filter(isMissing);
    const layer = locked ?? layers.find(({ encryption }) => encryption !== undefined);
    const password: Need[] = layer ? [{ kind: 'password', of: layer.name }] : [];
    return {
      step: 'needs',
      image,
      needs: missing.length > 0 ? missing : password,
      notice,
      offered: undefined,
      doubt: undefined,
      // Only the old AES method cannot check a password.
      canAssume: notice !== undefined && missing.length === 0 && layer?.encryption === 'aes',
    };
  }

  /** Shows the headers at once, then the findings from the map and the browser as they arrive. */
  async #describe(image: AnyImage, turn: AbortSignal): Promise<void> {
    const { virtualSize, layers } = image.info;
    const names = layers.map(({ name }) => name);
    const survey: Survey = {
      ...{ data: 0, compressed: 0, lost: 0, complete: false, isDue: false },
      ...(virtualSize === undefined ? {} : { picture: new DiskPicture(virtualSize, names) }),
    };
    const show = () => this.showImage(image, turn, { ...survey });
    const opening = this.opening!;
    const isRemote = sourcesOf(opening).some(({ link }) => link);
    this.#destinations = [];
    this.#placesProblem = undefined;
    this.environment = { ...newEnvironment(this.stage, isRemote), wasFull: opening.wasFull ?? false };
    this.stage.host.emit('decant-info', image.info);
    const due = setTimeout(() => {
      survey.isDue = true;
      show();
    }, PROPOSAL_TIMEOUT);
    turn.addEventListener('abort', () => clearTimeout(due));
    // Places that appear later would move the button that the person is about to press.
    const found = this.#findPlaces(image, turn, show);
    await Promise.race([found, new Promise((resolve) => setTimeout(resolve, PLACES_TIMEOUT))]);
    if (turn.aborted) return;
    show();
    const isKept = async () => ((await keptDownload(image, 'disk', image.formats[0]!))?.guestDone ?? 0) > 0;
    const explored = explore(this.environment, largestOutput(image), isKept, this.stage, turn, show);
    await Promise.all([
      found,
      explored,
      this.#survey(image, turn, survey, show),
      surveyContents(image, turn, survey, show),
    ]);
  }

  /** Reads the map to its end, or until a conversion begins, which reads the whole map itself. */
  async #survey(image: AnyImage, turn: AbortSignal, survey: Survey, show: () => void): Promise<void> {
    let shown = performance.now();
    if (image.streamed) survey.data = diskSize(image.info);
    try {
      for await (const extent of image.streamed ? [] : image.map({ signal: turn })) {
        if (turn.aborted || this.stage.state.step !== 'ready') return;
        survey.picture?.add(extent);
        if (extent.kind === 'lost') survey.lost += extent.length;
        if (extent.kind === 'data') survey.data += extent.length;
        if (extent.kind === 'data' && extent.compressed) survey.compressed += extent.length;
        if (performance.now() - shown < SURVEY_TICK) continue;
        show();
        shown = performance.now();
      }
    } catch (thrown) {
      // A conversion that has begun in the meantime reports the same failure.
      if (this.stage.state.step === 'ready') throw thrown;
      return;
    }
    survey.complete = true;
    show();
  }

  /** Finds the places where the disk can run. Without them, only the format can be chosen. */
  async #findPlaces(image: AnyImage, turn: AbortSignal, show: () => void): Promise<void> {
    try {
      const found = await destinationsOf(image, this.stage.host);
      if (!turn.aborted) this.#destinations = found;
    } catch (thrown) {
      if (!turn.aborted) this.#placesProblem = this.stage.texts.failure(asError(thrown));
    }
    show();
  }

  /** The output for the image: of the format that the person has chosen, or for a place, as far as places are known. */
  #proposal(image: AnyImage): Pick<Step<'ready'>, 'output' | 'destination'> {
    const possible = image.formats.filter(({ refusal }) => !refusal);
    const format = possible.find(({ name }) => name === this.format);
    const destination = format ? undefined : proposed(this.#destinations, this.place);
    return { output: format ?? destination?.output ?? possible[0]!, destination };
  }

  /** Shows the image with the current findings. Keeps the person's choices. */
  showImage(image: AnyImage, turn: AbortSignal, survey: Survey): void {
    const { state } = this.stage;
    const before = state.step === 'ready' ? state : undefined;
    const { opening, environment } = this;
    const isOpening = ['opening', 'unpacking', 'unlocking'].includes(state.step);
    if (!opening || !environment || (!before && !isOpening)) return;
    const destinations = this.#destinations;
    const isNew = !before || (before.destinations !== destinations && !before.isHeld && !before.placing);
    const { output, destination } = isNew ? this.#proposal(image) : before;
    const choices = listChoices(image.info, output, survey, environment, this.stage);
    const isDue = survey.isDue || (survey.complete && environment.complete);
    const selection = selectWay(choices, before, this.way, isDue, environment);
    const sources = sourcesOf(opening).map(({ file }) => file.name);
    this.stage.show(turn, {
      nameProblem: undefined,
      nameRefusals: 0,
      folder: this.folder,
      asking: undefined,
      placing: false,
      picking: false,
      isChosen: false,
      isHeld: false,
      ...before,
      output,
      destinations,
      destination,
      placesProblem: this.#placesProblem,
      // A question applies to one way only.
      ...(before?.way === selection.way ? {} : { asking: undefined }),
      step: 'ready',
      name:
        opening.outputName ?? suggestName(nameForOutput(opening, image.info), output.extension, sources, this.made()),
      image,
      survey,
      choices,
      ...selection,
      otherTab: environment.otherTab,
    });
  }
}

/** Names by which the queue can find the needed file: the file name, and the ID that the image expects. */
const namesOf = ({ name, fileName }: FileNeed, { info }: AnyImage): string[] => [
  fileName,
  ...info.references.flatMap((reference) =>
    reference.name === name && reference.identity ? [reference.identity.id] : [],
  ),
];

/** Reads the partitions and file systems of the disk. */
async function surveyContents(image: AnyImage, turn: AbortSignal, survey: Survey, show: () => void): Promise<void> {
  if (image.streamed) return;
  const read = (offset: number, length: number) => image.read(offset, length, { signal: turn });
  // A conversion reports the same failure.
  const contents = await contentsOf(read, image.info.virtualSize).catch(() => undefined);
  if (!contents) return;
  survey.contents = contents;
  show();
}

/** Lists the files that were given for the image later, and that it does not use. */
function surplusOf({ info }: AnyImage, { bundle, companions }: Opening): Given[] {
  const count = (names: string[], name: string) => names.filter((one) => one === name).length;
  const names = companions.map(({ file }) => file.name);
  return companions.filter((given) => {
    const { name } = given.file;
    // One of two files with the same name may be needed, so both stay.
    const isUnused = count(info.unusedCompanions, name) === count(names, name);
    return isUnused && !bundle.companions.includes(given);
  });
}

/** Filters `surplus` for files that are not copies of other files of the image and were not given twice. */
function newAmong(surplus: Given[], { top, bundle, answers, repeated }: Opening): Promise<Given[]> {
  const stays = (given: Given) => !surplus.includes(given);
  const before = [top, ...bundle.companions, ...answers.map(({ given }) => given), ...repeated.filter(stays)];
  const once = surplus.filter((given) => !repeated.includes(given));
  return without(once, before, mayBeSame);
}

/** The size of the largest output whose size is known before the conversion, in bytes. */
const largestOutput = (image: AnyImage): number => Math.max(...image.formats.map(({ size = 0 }) => size));
