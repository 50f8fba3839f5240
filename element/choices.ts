// The ways to save a disk in this browser, their costs, and the best one.

import { type AnyInfo, canStore, type OutputFormat } from 'decant';
import { loadAsked } from './asked-on-demand.js';
import { diskSize } from './disk-size.js';
import type { Host } from './host.js';
import { currentRates, type Known, type Method, predict, type Rates } from './rates.js';
import type { Stage } from './stage.js';
import type { Step } from './state.js';
import type { FirstTexts } from './texts/english.js';
import { LEAST_ROOM } from './texts/units.js';
import type { Choice, Survey, Way } from './ways.js';
import { isOtherTabBusy } from './work-guard.js';

/** What this browser offers to this page for a disk. A field that is `undefined` is not known yet. */
export interface Environment {
  rates?: Rates;
  /** The methods whose rates were measured, not only estimated. */
  measured: Method[];
  /** Whether the image comes over a network, whose speed is unknown. */
  isRemote: boolean;
  /** Whether the private storage has room for the largest output whose size is known. */
  fits?: boolean;
  /** If not: for about how many bytes the private storage has room. */
  room?: number;
  /** Whether a download of this image has failed because the storage was full. */
  wasFull?: boolean;
  /** Why a download cannot be streamed; the obstacle is `undefined` if it can. */
  stream?: { obstacle: string | undefined };
  folderObstacle: string | undefined;
  dialogObstacle: string | undefined;
  /** Why downloads are impossible, whatever room the storage has. */
  downloadObstacle?: string;
  otherTab: boolean;
  /** Whether everything is known. */
  complete: boolean;
}

export function newEnvironment({ host, texts }: Stage, isRemote: boolean): Environment {
  const nothing = { folderObstacle: undefined, dialogObstacle: undefined, otherTab: false, measured: [], isRemote };
  // The page saves the disk itself, so no ability of the browser is needed.
  if (host.output) return { ...nothing, complete: true };
  const obstacle = (picker: string) => {
    if (!isSecureContext) return texts.insecure;
    return picker in globalThis ? undefined : texts.noPicker;
  };
  return {
    ...nothing,
    folderObstacle: obstacle('showDirectoryPicker'),
    dialogObstacle: obstacle('showSaveFilePicker'),
    complete: false,
  };
}

/**
 * Fills in `environment` for a file of `size` bytes. If the file `isKept`, the storage has room for it already. Calls
 * `changed` after each finding.
 */
export async function explore(
  environment: Environment,
  size: number,
  isKept: () => Promise<boolean>,
  stage: Stage,
  turn: AbortSignal,
  changed: () => void,
): Promise<void> {
  const { host, texts } = stage;
  const take = async (found: Partial<Environment> | Promise<Partial<Environment>>) => {
    Object.assign(environment, await found);
    changed();
  };
  if (host.output) return;
  if (isSecureContext) {
    await Promise.all([
      take(isOtherTabBusy().then((otherTab) => ({ otherTab }))),
      take(ratesOfBrowser().then((known) => known ?? {})),
      // A page in no frame needs no code for them.
      take(window.parent === window ? {} : loadAsked().then(({ frameObstacles }) => frameObstacles(stage))),
      take(streamObstacle(host, texts).then((obstacle) => ({ stream: { obstacle } }))),
      // If the trial itself fails, the storage is not used.
      take(
        canStore(size)
          .catch(() => false)
          .then((fits) => ({ fits })),
      ),
    ]);
  }
  if (environment.fits === false && (await isKept())) await take({ fits: true });
  if (environment.fits === false) await take(roomBelow(size, turn).then((room) => ({ room })));
  await take({ complete: true });
}

/** The rates of this browser; `undefined` if they cannot be estimated. */
export const ratesOfBrowser = (): Promise<Known | undefined> => currentRates(async () => (await loadAsked()).probe());

const streamObstacle = async ({ streamedDownloads }: Host, texts: FirstTexts): Promise<string | undefined> =>
  streamedDownloads ? streamedDownloads.obstacle() : texts.streamsNot;

/** The ratio of two successive sizes that are tried. */
const STEP = 1.25;

/**
 * Estimates the room in the private storage, in bytes, if it is less than `size`; 0 if it is less than `LEAST_ROOM`. Tries sizes in descending order: a trial
 * that fails ends at once, but one that succeeds takes time if the storage is in memory.
 */
async function roomBelow(size: number, turn: AbortSignal): Promise<number> {
  for (let tried = size / STEP; tried > LEAST_ROOM && !turn.aborted; tried /= STEP) {
    if (await canStore(Math.floor(tried)).catch(() => false)) return tried;
  }
  return 0;
}

/**
 * Lists all ways to save `output`. The browser's save dialog is offered only if no folder can be picked, because the dialog
 * empties an existing file that is picked there.
 */
export function listChoices(
  info: AnyInfo,
  output: OutputFormat,
  survey: Survey,
  environment: Environment,
  { host, texts }: Stage,
): Choice[] {
  if (host.output) return [{ way: 'host', method: 'host' }];
  const { rates, measured, isRemote, folderObstacle, dialogObstacle } = environment;
  const virtualSize = diskSize(info);
  const bound = survey.complete ? {} : { atLeast: true };
  const choice = (way: Way, method: Method, more: Pick<Choice, 'obstacle' | 'note' | 'fit'>): Choice => {
    if (!survey.complete && !survey.isDue) return { way, method, ...more };
    const space = method === 'picked' ? survey.data : virtualSize;
    if (!rates || isRemote) return { way, method, space, ...bound, ...more };
    const { converting, finishing, copying } = predict(rates, method, virtualSize, survey.data);
    const seconds = converting + finishing + copying;
    const guess = measured.includes(method) ? {} : { isGuess: true };
    return { way, method, space, seconds, copying, ...guess, ...bound, ...more };
  };
  const because = (obstacle: string | undefined) => (obstacle === undefined ? {} : { obstacle });
  const choices = [choice('folder', 'picked', because(folderObstacle))];
  if (folderObstacle !== undefined && dialogObstacle === undefined) choices.push(choice('dialog', 'picked', {}));
  const { method, ...more } = downloading(info, output, survey, environment, texts);
  choices.push(choice('download', method, more));
  return choices;
}

/** Chooses how a download is made, or says why it is impossible. */
function downloading(
  info: AnyInfo,
  output: OutputFormat,
  survey: Survey,
  { rates, fits, room, wasFull, stream, folderObstacle, downloadObstacle }: Environment,
  texts: FirstTexts,
): Pick<Choice, 'method' | 'obstacle' | 'note' | 'fit'> {
  if (!isSecureContext) return { method: 'stored', obstacle: texts.insecure };
  if (downloadObstacle !== undefined) return { method: 'stored', obstacle: downloadObstacle };
  const streams = stream && stream.obstacle === undefined && output.streamable;
  if (fits === undefined || (!fits && !stream)) return { method: 'stored', obstacle: texts.finding };
  if (!fits && streams) return { method: 'streamed', note: texts.streamsForRoom(room) };
  // An output of unknown size is tried, since it may be far smaller than the disk.
  if (!fits && output.size === undefined) {
    const fit = wasFull || isFarLarger(survey.data, output, room) ? 'unlikely' : 'unknown';
    return { method: 'stored', note: texts.mayNotFit(room), fit };
  }
  if (!fits) {
    return { method: 'stored', obstacle: texts.noRoom(room, stream!.obstacle!, folderObstacle === undefined) };
  }
  if (wasFull) return streams ? { method: 'streamed' } : { method: 'stored', fit: 'unlikely' };
  if (!streams || !rates || !survey.complete) return { method: 'stored' };
  const seconds = (method: Method) => {
    const { converting, copying } = predict(rates, method, diskSize(info), survey.data);
    return converting + copying;
  };
  return { method: seconds('streamed') < seconds('stored') ? 'streamed' : 'stored' };
}

/** The smallest share of the data that a compressed output usually has. */
const COMPRESSED = 0.5;

/** Whether an `output` of unknown size for `data` bytes probably does not fit into `room`, if that is known. */
const isFarLarger = (data: number, { compressed }: OutputFormat, room: number | undefined): boolean =>
  room !== undefined && data * (compressed ? COMPRESSED : 1) > Math.max(room, LEAST_ROOM);

/** The number of bytes of space that count as much as a second. */
export const BYTES_PER_SECOND = 1e8;

/** What a choice costs, in seconds. */
export const cost = ({ seconds = 0, space = 0 }: Choice): number => seconds + space / BYTES_PER_SECOND;

/** Returns the cheapest possible choice, if possible one whose result fits; `undefined` if none is possible. */
export function bestChoice(choices: Choice[]): Choice | undefined {
  const rank = ({ fit }: Choice) => (fit === 'unlikely' ? 1 : 0);
  return choices.filter(({ obstacle }) => !obstacle).toSorted((a, b) => rank(a) - rank(b) || cost(a) - cost(b))[0];
}

/**
 * Returns the way to select. A way that the person has selected, or is about to use, is never replaced by another one: if it has
 * become impossible, it is `lostWay`. Otherwise `remembered` is proposed, or the best one; once `isDue`, the proposal stays.
 */
export function selectWay(
  choices: Choice[],
  before: Pick<Step<'ready'>, 'way' | 'lostWay' | 'isChosen' | 'isHeld' | 'isSettled'> | undefined,
  remembered: Way | undefined,
  isDue: boolean,
  { wasFull }: Environment,
): Pick<Step<'ready'>, 'way' | 'lostWay' | 'isSettled'> {
  const best = bestChoice(choices);
  const possible = (way: Way | undefined) => choices.find((choice) => choice.way === way && !choice.obstacle);
  /** Whether its result probably does not fit, and there is another way or it has failed before. */
  const isDoubtful = (choice: Choice) => choice.fit === 'unlikely' && (choice !== best || wasFull);
  const isSettled = isDue || choices.length === 1;
  const selected = before?.way ?? before?.lostWay;
  if (selected && (before?.isChosen || before?.isHeld)) {
    const lost = { way: undefined, lostWay: selected };
    return { ...(possible(selected) ? { way: selected, lostWay: undefined } : lost), isSettled };
  }
  const kept = before?.isSettled ? possible(before.way) : undefined;
  const proposed = [kept, possible(remembered), best].find(
    (choice) => choice && !isDoubtful(choice) && (isSettled || !choice.fit),
  );
  return { way: proposed?.way, lostWay: undefined, isSettled };
}
