// The ways to save a disk in this browser, their costs, and the best one.

import type { AnyImage, AnyInfo, OutputFormat } from 'decant';
import type { Contents } from 'decant/contents';
import type { DiskPicture } from '../picture/disk-picture.js';
import { LEAST_ROOM } from '../texts/wording.js';
import type { AllTexts } from '../types.texts.js';
import type { Environment, Page } from './environment.js';
import { type Method, predict } from './rates.js';
import { canReadBack, isQuickToReadBack } from './verifying.js';

/** A way to save a disk: to a folder, to a file from the browser's save dialog, to the downloads, or by the page. */
export type Way = 'folder' | 'dialog' | 'download' | 'host';

/** The findings so far from reading the map and the contents of a disk. Sizes are in bytes. */
export interface Survey {
  data: number;
  compressed: number;
  /** In a salvage: bytes that the tables show to be lost. */
  lost: number;
  /** Whether the map was read to its end. Until then the sizes are lower bounds. */
  complete: boolean;
  /** The map as a picture; missing if the size of the disk is known only at its end. */
  picture?: DiskPicture;
  /** Partitions and file systems, once they are read. */
  contents?: Contents;
  /** Whether to show figures and propose a way before the map is complete, because reading it takes long. */
  isDue: boolean;
}

/** The virtual size. If it is known only at the end, the size of the file, since the disk is rarely smaller. */
export const diskSize = ({ virtualSize, fileSize = 0 }: AnyInfo): number => virtualSize ?? fileSize;

/** The images whose disks are converted, in the order of the disks: one, or several whose disks become one file. */
export type Images = readonly [AnyImage, ...AnyImage[]];

export const imagesIn = ({ image, others }: { image: AnyImage; others: readonly AnyImage[] }): Images => [
  image,
  ...others,
];

/** The virtual size of all disks; `undefined` if it is known only at the end. */
export const knownSize = (images: readonly AnyImage[]): number | undefined =>
  images.some(({ info }) => info.virtualSize === undefined) ? undefined : totalSize(images);

/** The size of all disks, as `diskSize` determines it. */
export const totalSize = (images: readonly Pick<AnyImage, 'info'>[]): number =>
  images.reduce((sum, { info }) => sum + diskSize(info), 0);

/** How the disk is changed: it gets the size that the person has chosen, and its GPT follows, if it may have one. */
export const diskChange = ({
  size,
  survey: { contents },
}: {
  size: number | undefined;
  survey: Survey;
}): { size?: number; fixGpt?: boolean } => {
  const hasNoGpt = contents !== undefined && contents.table?.kind !== 'GPT';
  return size === undefined ? {} : { size, ...(hasNoGpt ? {} : { fixGpt: true }) };
};

/** Whether the disk would become smaller. */
export const isTooSmall = ({ size, image }: { size: number | undefined; image: { info: AnyInfo } }): boolean =>
  size !== undefined && size < (image.info.virtualSize ?? 1);

/** The way that is selected, or proposed. */
export interface Selection {
  way: Way | undefined;
  /** The way that was selected until it became impossible. No other one is selected in its place. */
  lostWay: Way | undefined;
  /** Whether the person has selected the way. */
  isChosen: boolean;
  /** Whether the focus is, or was, on Convert: then no proposal changes. */
  isHeld: boolean;
  /** Whether the way was proposed when enough was known, so that the proposal stays. */
  isSettled: boolean;
}

export interface Choice {
  way: Way;
  method: Method;
  /** Why it cannot be chosen, if so. */
  obstacle?: string;
  /** The time that it will take, in seconds, if known. */
  seconds?: number;
  /** Whether `seconds` is only estimated, because nothing was converted in this way yet. */
  isGuess?: boolean;
  /** The part of `seconds` in which the browser still copies after the page is done. */
  copying?: number;
  /** The space that the file will take, in bytes, if known. */
  space?: number;
  /** Whether `seconds` and `space` are lower bounds, because the map was not read to its end. */
  atLeast?: boolean;
  /** Whether the result fits into the browser's storage, if that is not certain. */
  fit?: 'unknown' | 'unlikely';
  /** Another fact that the person should know beforehand. */
  note?: string;
  /** Whether reading the result back takes less than a tenth of the conversion. */
  isQuickToReadBack?: boolean;
}

/** Whether the result is read back and compared: as the person has chosen, otherwise where that takes little time. */
export function isVerified({
  verify,
  choices,
  way,
}: {
  verify: boolean | undefined;
  choices: Choice[];
  way: Way | undefined;
}): boolean {
  const choice = choices.find((one) => one.way === way);
  return choice !== undefined && canReadBack(choice.method) && (verify ?? choice.isQuickToReadBack === true);
}

/**
 * Lists all ways to save `output`, the disks of `images`. The browser's save dialog is offered only if no folder can be
 * picked, because the dialog empties an existing file that is picked there.
 */
export function listChoices(
  images: readonly Pick<AnyImage, 'info'>[],
  output: OutputFormat,
  survey: Survey,
  environment: Environment,
  { host, texts }: Page,
): Choice[] {
  if (host.output) return [{ way: 'host', method: 'host' }];
  const { rates, measured, isRemote, folderObstacle, dialogObstacle } = environment;
  const bound = survey.complete ? {} : { atLeast: true };
  const virtualSize = totalSize(images);
  const infos = images.map(({ info }) => info);
  const choice = (way: Way, method: Method, more: Pick<Choice, 'obstacle' | 'note' | 'fit'>): Choice => {
    if (!survey.complete && !survey.isDue) return { way, method, ...more };
    const space = method === 'picked' ? survey.data : virtualSize;
    const work = { infos, output, survey, method, virtualSize, isRemote, rates };
    const quick = isQuickToReadBack(work) ? { isQuickToReadBack: true } : {};
    if (!rates || isRemote) return { way, method, space, ...quick, ...bound, ...more };
    const { converting, finishing, copying } = predict(rates, method, virtualSize, survey.data);
    const seconds = converting + finishing + copying;
    const guess = measured.includes(method) ? {} : { isGuess: true };
    return { way, method, space, seconds, copying, ...quick, ...guess, ...bound, ...more };
  };
  const because = (obstacle: string | undefined) => (obstacle === undefined ? {} : { obstacle });
  const choices = [choice('folder', 'picked', because(folderObstacle))];
  if (folderObstacle !== undefined && dialogObstacle === undefined) choices.push(choice('dialog', 'picked', {}));
  const { method, ...more } = downloading(virtualSize, output, survey, environment, texts);
  choices.push(choice('download', method, more));
  return choices;
}

/** Chooses how a download is made, or says why it is impossible. */
function downloading(
  virtualSize: number,
  output: OutputFormat,
  survey: Survey,
  { rates, fits, room, wasFull, stream, folderObstacle, downloadObstacle }: Environment,
  texts: AllTexts,
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
    const { converting, copying } = predict(rates, method, virtualSize, survey.data);
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
const BYTES_PER_SECOND = 1e8;

/** What a choice costs, in seconds. */
export const cost = ({ seconds = 0, space = 0 }: Choice): number => seconds + space / BYTES_PER_SECOND;

/** Returns the cheapest possible choice; one whose result probably does not fit comes last. `undefined` if none is possible. */
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
  before: Selection | undefined,
  remembered: Way | undefined,
  isDue: boolean,
  { wasFull }: Environment,
): Pick<Selection, 'way' | 'lostWay' | 'isSettled'> {
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

/** In seconds. A person does not notice a smaller difference. */
const SOON = 5;
/** The best way is advised only if its cost is at most this share of the next one's. */
const CLEARLY = 0.7;

/** Returns the way that is clearly better than the others, with the reason; `undefined` if there is none. */
export function advice(choices: Choice[], texts: AllTexts): { way: Way; reason: string } | undefined {
  const best = bestChoice(choices);
  const others = choices.filter((choice) => choice !== best && !choice.obstacle);
  const other = others[0];
  if (!best || !other || best.seconds === undefined || other.seconds === undefined || best.atLeast) return undefined;
  if (cost(best) > cost(other) * CLEARLY || cost(other) - cost(best) < SOON) return undefined;
  const sooner = other.seconds - best.seconds;
  const saved = (other.space ?? 0) - (best.space ?? 0);
  const bySpace = saved / BYTES_PER_SECOND > sooner;
  if (!bySpace && (best.isGuess || other.isGuess)) return undefined;
  return {
    way: best.way,
    reason: bySpace ? texts.betterSpace(best.space ?? 0, other.space ?? 0) : texts.betterTime(sooner),
  };
}
