// The step that offers ways to save the disk of an open image: the proposals, and the person's choices.

import type { AnyInfo, OutputFormat, SavedProgress } from 'decant';
import { labelOf } from '../files/bundle.js';
import { downloadName, type NameProblem, problemSoFar, sizeInName, suggestName } from '../files/names.js';
import { allOf, nameForOutput, type Opening, sourcesOf } from '../files/opening.js';
import type { Queue } from '../queue/queue.js';
import type { SaveChoices } from '../steps/controls.js';
import { asError, type Screen } from '../steps/screen.js';
import type { Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import {
  diskChange,
  fileLength,
  type Images,
  imagesIn,
  isBrowserKnown,
  isTooSmall,
  listChoices,
  propose,
  type Survey,
  selectWay,
  type Way,
} from '../ways/choices.js';
import { type Destination, destinationsOf, formatsOf, lastFirst, proposed } from '../ways/destinations.js';
import { type Environment, explore, newEnvironment } from '../ways/environment.js';
import { remember, remembered } from '../ways/remembered.js';
import { beginSurvey, readContents, readMaps } from './survey.js';
import { keptDownload } from './target.js';

/** How long a proposal waits for the map and the browser, in milliseconds. Afterwards it uses the findings so far. */
const PROPOSAL_TIMEOUT = 2000;
/** How long the description of an image waits for the places, in milliseconds. */
const PLACES_TIMEOUT = 500;

/** Fields that only the person changes, as they are for a new image. */
const UNCHANGED = {
  nameProblem: undefined,
  nameRefusals: 0,
  size: undefined,
  asking: undefined,
  choosingTarget: false,
  picking: false,
  isChosen: false,
  isHeld: false,
} satisfies Partial<Step<'ready'>>;

/** The state of a way that the person has chosen. */
const CHOSEN = { reason: undefined, isChosen: true, lostWay: undefined } satisfies Partial<Step<'ready'>>;

/** Whether it is still being determined how the browser can save the disk. */
export const isWaiting = ({ way, lostWay, isSettled }: Step<'ready'>): boolean => !way && !lostWay && !isSettled;

/** Whether the person must change something before converting: the section "Change" opens. */
export const mustChange = (state: Step<'ready'>): boolean =>
  state.nameProblem !== undefined || isTooSmall(state) || (!state.way && !isWaiting(state));

export class Chooser implements SaveChoices {
  environment: Environment | undefined;
  /** The folder that the person has picked; kept for the next image. */
  folder: FileSystemDirectoryHandle | undefined;
  listsPlaces: boolean | undefined;
  placeSearch = '';
  /** The way that the person has chosen last. */
  #way = remembered('way') as Way | undefined;
  /** The name of the output format that the person has chosen instead of a place; kept for the next image. */
  #format: string | undefined;
  /** Whether the person wants results verified; kept for the next image. */
  #verify: boolean | undefined;
  /** The name of the place that was chosen last. */
  #place = remembered('place');
  /** The search for an interrupted download of the image of `turn`, in the form that `key` states. */
  #search: { turn: AbortSignal; key: string; found: Promise<SavedProgress | undefined> } | undefined;
  #destinations: Destination[] = [];
  #placesProblem: string | undefined;
  /** Whether the person has opened the section "Change"; kept for the next image. */
  #isChanging = false;
  /** The turn in which that section has opened by itself. */
  #opened: AbortSignal | undefined;

  constructor(
    private readonly screen: Screen,
    private readonly queue: Queue,
  ) {}

  /** The state of the image that is shown; `undefined` while its target is being chosen. */
  get ready(): Step<'ready'> | undefined {
    const ready = this.screen.at('ready');
    return ready?.choosingTarget ? undefined : ready;
  }

  /**
   * Shows the headers of `images` at once, then the findings from their maps and the browser as they arrive. Several images have disks
   * that become one file.
   */
  async describe(images: Images, turn: AbortSignal): Promise<void> {
    const opening = this.screen.opening!;
    const [image] = images;
    const survey = beginSurvey(
      images,
      allOf(opening).map(({ bundle }) => bundle.disk?.name ?? labelOf(bundle)),
    );
    let isShown = false;
    const show = () => isShown && this.#show(images, turn, { ...survey });
    const isRemote = sourcesOf(opening).some(({ link }) => link);
    this.#destinations = [];
    this.#placesProblem = undefined;
    this.environment = { ...newEnvironment(this.screen, isRemote), wasFull: opening.wasFull ?? false };
    for (const { info } of images) this.screen.host.emit('decant-info', info);
    const due = setTimeout(() => {
      survey.isDue = true;
      show();
    }, PROPOSAL_TIMEOUT);
    turn.addEventListener('abort', () => clearTimeout(due));
    const isKept = async () =>
      images.length === 1 && ((await keptDownload(image, 'disk', image.formats[0]!))?.guestDone ?? 0) > 0;
    const found = this.#findPlaces(images, turn, show);
    // The storage is tried while the page is busy with showing the image.
    const explored = explore(this.environment, largestOutput(images), isKept, this.screen, turn, show);
    // A failure is reported below, unless the turn is over by then.
    explored.catch(() => {});
    // Places that appear later would move the button that the person is about to press.
    await Promise.race([found, new Promise((resolve) => setTimeout(resolve, PLACES_TIMEOUT))]);
    if (turn.aborted) return;
    isShown = true;
    show();
    await Promise.all([
      found,
      explored,
      readMaps(images, turn, survey, show, () => this.screen.at('ready') !== undefined).then(() => {
        // A search reads the whole map again, and from a server also the image.
        if (!turn.aborted && survey.complete && !survey.isDue && !isRemote) this.#searchEarly(turn);
      }),
      readContents(image, turn, survey, show),
    ]);
  }

  /** Searches for an interrupted download of the disk while the person looks at the page; not once a target is being chosen. */
  #searchEarly(turn: AbortSignal): void {
    const { ready } = this;
    if (ready?.way !== 'host' && ready?.output.resumable && ready.others.length === 0)
      this.#search = { turn, key: keyOf(ready), found: search(ready) };
  }

  /** Finds the kept part of a download of the image, as it would be made now. */
  findKept(turn: AbortSignal, ready: Step<'ready'>): Promise<SavedProgress | undefined> {
    const early = this.#search;
    // Afterwards there may be another part.
    this.#search = undefined;
    return early?.turn === turn && early.key === keyOf(ready) ? early.found : search(ready);
  }

  /** Finds the places where the disk can run. Without them, only the format can be chosen. */
  async #findPlaces(images: Images, turn: AbortSignal, show: () => void): Promise<void> {
    try {
      const found = await destinationsOf(images, this.screen.host);
      if (!turn.aborted) this.#destinations = this.screen.host.places ? found : lastFirst(found, this.#place);
    } catch (thrown) {
      if (!turn.aborted) this.#placesProblem = this.screen.texts.failure(asError(thrown));
    }
    show();
  }

  /** Proposes an output: the format that the person has chosen, or else that of the place that was chosen last or is the default. */
  #proposal(images: Images): Pick<Step<'ready'>, 'output' | 'destination'> {
    const possible = formatsOf(images).filter(({ refusal }) => !refusal);
    const format = possible.find(({ name }) => name === this.#format);
    const destination = format ? undefined : proposed(this.#destinations, this.#place);
    return { output: format ?? destination?.output ?? possible[0]!, destination };
  }

  /** Shows the images with the current findings. Keeps the person's choices. */
  #show(images: Images, turn: AbortSignal, survey: Survey): void {
    const { opening, texts } = this.screen;
    const [image, ...others] = images;
    const { environment } = this;
    if (!opening || !environment) return;
    const before = this.screen.at('ready');
    const destinations = this.#destinations;
    const isNew = !before || (before.destinations !== destinations && !before.isHeld && !before.choosingTarget);
    const { output, destination } = isNew ? this.#proposal(images) : before;
    const saving = { images, output, survey, size: before?.size };
    const choices = listChoices(saving, environment, this.screen);
    const isDue = survey.isDue || (survey.complete && environment.complete);
    const selection = selectWay(choices, before, isDue, isBrowserKnown(environment, output), () => {
      const ways = { queue: this.queue.wayBeside(opening.bundle), chosen: this.#way };
      return propose(choices, fileLength(images, output, before?.size), ways, environment, texts);
    });
    if (selection.way) this.queue.lead(selection.way, opening.bundle);
    const sources = sourcesOf(opening).map(({ file }) => file.name);
    const made = this.queue.taken.map(({ file, virtualSize }) => ({ file, size: sizeInName(virtualSize) }));
    const diskSize = others.length > 0 ? undefined : (before?.size ?? image.info.virtualSize);
    const suggested = () =>
      suggestName(nameForOutput(opening, image.info), output.extension, sources, made, sizeInName(diskSize));
    this.screen.send(turn, 'described', {
      ...UNCHANGED,
      folder: this.folder,
      verify: this.#verify,
      ...before,
      output,
      destinations,
      destination,
      placesProblem: this.#placesProblem,
      // A question applies to one way only.
      ...(before?.way === selection.way ? {} : { asking: undefined }),
      name: opening.outputName ?? suggested(),
      label: others.length > 0 ? opening.top.file.name : labelOfDisk(opening, image.info, texts),
      image,
      others,
      survey,
      choices,
      ...selection,
      otherTab: environment.otherTab,
    });
  }

  /** Changes the state of the image of `turn`, unless the turn is over. */
  change(turn: AbortSignal, change: Partial<Step<'ready'>>): void {
    this.screen.update(turn, 'ready', change);
  }

  /** Shows why the disk cannot be saved under its name. */
  refuseName(turn: AbortSignal, nameProblem: NameProblem): void {
    const { nameRefusals = 0 } = this.screen.at('ready') ?? {};
    this.change(turn, { nameProblem, nameRefusals: nameRefusals + 1 });
  }

  get isChanging(): boolean {
    return this.#isChanging || this.#opened === this.screen.turn;
  }

  openChange(isChanging: boolean): void {
    this.#isChanging = isChanging;
    this.#opened = undefined;
    this.screen.refresh();
  }

  /** Opens the section "Change" if the person must change something. Then it stays open until the person closes it or leaves the image. */
  openIfNecessary(): void {
    const ready = this.screen.at('ready');
    if (ready && mustChange(ready)) this.#opened = this.screen.turn;
  }

  listPlaces(isListed: boolean): void {
    this.listsPlaces = isListed;
    this.screen.refresh();
  }

  searchPlace(text: string): void {
    this.placeSearch = text;
    this.screen.refresh();
  }

  select(way: Way): void {
    this.#choose(way);
    // A question applies to one way only.
    const asking = this.ready?.way === way ? {} : { asking: undefined };
    this.change(this.screen.turn, { way, ...CHOSEN, ...asking });
  }

  /** Proposes `way` for the next images, too. */
  #choose(way: Way): void {
    this.#way = way;
    remember('way', way);
    if (this.screen.opening) this.queue.lead(way, this.screen.opening.bundle, true);
  }

  hold(): void {
    if (this.ready && !this.ready.isHeld) this.change(this.screen.turn, { isHeld: true });
  }

  selectDestination(destination: Destination): void {
    if (!this.ready) return;
    this.#format = undefined;
    this.#place = destination.name;
    remember('place', destination.name);
    this.screen.host.emit('decant-place', destination.name);
    this.#useOutput(this.ready, destination.output, destination);
  }

  selectOutput(output: OutputFormat): void {
    if (!this.ready) return;
    this.#format = output.name;
    this.#useOutput(this.ready, output, undefined);
  }

  #useOutput(before: Step<'ready'>, output: OutputFormat, destination: Destination | undefined): void {
    const { turn } = this.screen;
    this.change(turn, { output, destination, asking: undefined });
    // The suggested name and the ways to save depend on the output.
    this.#show(imagesIn(before), turn, before.survey);
    const ready = this.screen.at('ready');
    if (ready) this.change(turn, { nameProblem: problemSoFar(ready.name, this.screen.texts) });
  }

  rename(name: string): void {
    if (!this.ready) return;
    if (this.screen.opening) this.screen.opening.outputName = name;
    const nameProblem = problemSoFar(name, this.screen.texts);
    this.change(this.screen.turn, { name, nameProblem, asking: undefined });
  }

  resize(size: number | undefined): void {
    const { turn } = this.screen;
    this.change(turn, { size, asking: undefined });
    // The ways to save depend on the size.
    const ready = this.screen.at('ready');
    if (ready) this.#show(imagesIn(ready), turn, ready.survey);
  }

  verify(isWanted: boolean): void {
    this.#verify = isWanted;
    this.change(this.screen.turn, { verify: isWanted });
  }

  /** Saves this image and the next ones to `folder`, which the person has picked. */
  useFolder(turn: AbortSignal, folder: FileSystemDirectoryHandle): void {
    this.#choose('folder');
    this.folder = folder;
    this.change(turn, { folder, way: 'folder', ...CHOSEN });
  }

  /** Marks the way whose dialog the browser refuses as impossible. */
  refuseDialog(turn: AbortSignal, way: 'folder' | 'dialog'): void {
    const { environment } = this;
    const { texts } = this.screen;
    const ready = this.screen.at('ready');
    if (turn.aborted || !environment || !ready) return;
    this.#way = undefined;
    this.queue.forgetWay();
    environment[`${way}Obstacle`] = texts.pickerFailed;
    if (way === 'folder') environment.dialogObstacle ??= texts.pickerFailed;
    this.#show(imagesIn(ready), turn, ready.survey);
  }
}

/** Identifies the download to which a resumable part belongs. */
const keyOf = (ready: Step<'ready'>): string =>
  JSON.stringify([ready.output.name, ready.output.recommended, diskChange(ready)]);

const search = (ready: Step<'ready'>): Promise<SavedProgress | undefined> =>
  keptDownload(ready.image, downloadName(ready.name), ready.output, diskChange(ready));

/** The name of the image on the screen. For a disk of a machine or an archive, with its size, to tell it from the others. */
function labelOfDisk({ bundle }: Opening, { name, virtualSize }: AnyInfo, texts: AllTexts): string {
  const called = name ?? texts.image;
  return bundle.disk && virtualSize !== undefined ? `${called} (${texts.size(virtualSize)})` : called;
}

/** The size of the largest output whose size is known before the conversion, in bytes. The disks in one file have about this size too. */
const largestOutput = (images: Images): number =>
  images.reduce((sum, { formats }) => sum + Math.max(...formats.map(({ outputSize = 0 }) => outputSize)), 0);
