// The ways to save a disk in this browser, their costs, and the best one.

import type { AnyImage, AnyInfo, OutputFormat } from 'decant';
import type { Contents } from 'decant/contents';
import type { DiskPicture } from '../picture/disk-picture.js';
import { LEAST_ROOM } from '../texts/wording.js';
import type { AllTexts, SaveCost } from '../types.texts.js';
import type { SaveMethod } from '../types.texts-results.js';
import type { Environment, Page } from './environment.js';
import { predict } from './rates.js';
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
export interface Selection extends Proposal {
  /** The way that was selected until it became impossible. No other one is selected in its place. */
  lostWay: Way | undefined;
  /** Whether the person has selected the way. */
  isChosen: boolean;
  /** Whether the focus is, or was, on Convert: then no proposal changes. */
  isHeld: boolean;
  /** Whether no proposal will come any more. */
  isSettled: boolean;
}

/** A proposed way. */
export interface Proposal {
  way: Way | undefined;
  /** Why it is not the usual one, or why there is none: a sentence. */
  reason?: string | undefined;
}

export interface Choice extends SaveCost {
  way: Way;
  method: SaveMethod;
  /** Why it cannot be chosen, if so. */
  obstacle?: string;
  /** The part of `seconds` in which the browser still copies after the page is done. */
  copying?: number;
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

/** Larger files, in bytes, are not downloaded unless the person wants it, or nothing else is possible. */
export const MOST_TO_DOWNLOAD = 30e9;
/** Larger files in a folder, in bytes, are checked by the browser for at least 7 to 31 minutes: at 330 to 75 MB/s (`CHECKED`). */
export const MOST_TO_CHECK = 140e9;

/**
 * The size of the file, in bytes. An output whose size is known only at the end has about the size of the image's files, which have no
 * holes either. `size` is that of the enlarged disk.
 */
export function fileLength(images: readonly Pick<AnyImage, 'info'>[], output: OutputFormat, size?: number): number {
  const disk = totalSize(images);
  if (output.outputSize !== undefined) return output.outputSize + (size ?? disk) - disk;
  return images.reduce((sum, { info }) => sum + (info.fileSize ?? diskSize(info)), 0);
}

/** Whether saving in `way` takes longer than minutes, whatever the data. */
export const takesHours = ({ choices }: { choices: Choice[] }, way: Way | undefined): boolean =>
  choices.some((choice) => choice.way === way && choice.takesHours);

/** The disk to save, and its output. */
export interface Saving {
  images: readonly Pick<AnyImage, 'info'>[];
  output: OutputFormat;
  survey: Survey;
  /** The size that the person gives the disk, in bytes. */
  size?: number | undefined;
}

/**
 * Lists all ways to save `output`, the disks of `images`. The browser's save dialog is offered only if no folder can be
 * picked, because the dialog empties an existing file that is picked there.
 */
export function listChoices(
  { images, output, survey, size }: Saving,
  environment: Environment,
  { host, texts }: Page,
): Choice[] {
  if (host.output) return [{ way: 'host', method: 'host' }];
  const { rates, measured, isRemote, folderObstacle, dialogObstacle } = environment;
  const bound = survey.complete ? {} : { atLeast: true };
  const length = output.outputSize === undefined ? (size ?? totalSize(images)) : fileLength(images, output, size);
  const infos = images.map(({ info }) => info);
  const isVast = output.outputSize !== undefined && length > MOST_TO_CHECK;
  const choice = (way: Way, method: SaveMethod, facts: Pick<Choice, 'obstacle' | 'note' | 'fit'>): Choice => {
    const more = { ...facts, ...(isVast && method !== 'stored' ? { takesHours: true } : {}) };
    if (!survey.complete && !survey.isDue) return { way, method, ...more };
    const space = method === 'picked' ? survey.data : length;
    const work = { infos, output, survey, method, virtualSize: length, isRemote, rates };
    const quick = isQuickToReadBack(work) ? { isQuickToReadBack: true } : {};
    if (!rates || isRemote) return { way, method, space, ...quick, ...bound, ...more };
    const { converting, finishing, copying } = predict(rates, method, length, survey.data);
    const seconds = converting + finishing + copying;
    const guess = measured.includes(method) ? {} : { isGuess: true };
    return { way, method, space, seconds, copying, ...quick, ...guess, ...bound, ...more };
  };
  const because = (obstacle: string | undefined) => (obstacle === undefined ? {} : { obstacle });
  const choices = [choice('folder', 'picked', because(folderObstacle))];
  if (folderObstacle !== undefined && dialogObstacle === undefined) choices.push(choice('dialog', 'picked', {}));
  const { method, ...more } = downloading(output, survey, environment, texts);
  choices.push(choice('download', method, more));
  return choices;
}

/** Chooses how a download is made, or says why it is impossible. It is streamed only if the storage has no room. */
function downloading(
  output: OutputFormat,
  survey: Survey,
  { fits, room, wasFull, stream, folderObstacle, downloadObstacle }: Environment,
  texts: AllTexts,
): Pick<Choice, 'method' | 'obstacle' | 'note' | 'fit'> {
  if (!isSecureContext) return { method: 'stored', obstacle: texts.insecure };
  if (downloadObstacle !== undefined) return { method: 'stored', obstacle: downloadObstacle };
  const streams = stream && stream.obstacle === undefined && output.streamable;
  if (fits === undefined || (!fits && !stream)) return { method: 'stored', obstacle: texts.finding };
  if (!fits && streams) return { method: 'streamed', note: texts.streamsForRoom(room) };
  // An output of unknown size is tried, since it may be far smaller than the disk.
  if (!fits && output.outputSize === undefined) {
    const fit = wasFull || isFarLarger(survey.data, output, room) ? 'unlikely' : 'unknown';
    return { method: 'stored', note: texts.mayNotFit(room), fit };
  }
  if (!fits) {
    return { method: 'stored', obstacle: texts.noRoom(room, stream!.obstacle!, folderObstacle === undefined) };
  }
  if (!wasFull) return { method: 'stored' };
  return streams ? { method: 'streamed' } : { method: 'stored', fit: 'unlikely', note: texts.storageWasFull };
}

/** The smallest share of the data that a compressed output usually has. */
const COMPRESSED = 0.5;

/** Whether an `output` of unknown size for `data` bytes probably does not fit into `room`, if that is known. */
const isFarLarger = (data: number, { compressed }: OutputFormat, room: number | undefined): boolean =>
  room !== undefined && data * (compressed ? COMPRESSED : 1) > Math.max(room, LEAST_ROOM);

/** Whether a choice may be proposed. */
const isSuitable = ({ obstacle, fit, takesHours }: Choice): boolean =>
  obstacle === undefined && fit !== 'unlikely' && !takesHours;

/**
 * The usual way: a download of a file up to `MOST_TO_DOWNLOAD`, otherwise a folder or the save dialog; never one that takes hours or probably
 * fails, unless there is nothing else. No measured speed changes it.
 */
function usualWay(choices: Choice[], length: number, wasFull: boolean | undefined, texts: AllTexts): Proposal {
  const possible = choices.filter(({ obstacle }) => obstacle === undefined);
  const picked = possible.find(({ method }) => method === 'picked');
  const other = choices.find(({ method }) => method !== 'picked')!;
  if (picked && isSuitable(picked)) {
    if (length > MOST_TO_DOWNLOAD) return { way: picked.way, reason: texts.folderAbove(MOST_TO_DOWNLOAD) };
    return isSuitable(other) ? { way: other.way } : { way: picked.way, reason: other.obstacle ?? other.note };
  }
  const reason = picked && texts.longCheck(length);
  const isOnlyOne = !picked && possible.length === 1 && !wasFull;
  return { way: isSuitable(other) || isOnlyOne ? other.way : undefined, reason };
}

/** Whether everything is known on which the proposal for `output` depends. The room counts for an output of unknown size. */
export const isBrowserKnown = ({ complete, fits, room }: Environment, { outputSize }: OutputFormat): boolean =>
  complete && (outputSize !== undefined || fits !== false || room !== undefined);

/** The ways that have a claim to be proposed. */
export interface WaysBefore {
  /** The way for the other images of the queue. */
  queue: Way | undefined;
  /** The one that the person has chosen last. */
  chosen: Way | undefined;
}

/** Proposes a way to save a file of `length` bytes: that of the queue, the one that was chosen last, or the usual one. */
export function propose(
  choices: Choice[],
  length: number,
  before: WaysBefore,
  { wasFull }: Pick<Environment, 'wasFull'>,
  texts: AllTexts,
): Proposal {
  const usual = usualWay(choices, length, wasFull, texts);
  const wanted = before.queue ?? before.chosen;
  const isWanted = choices.some((choice) => choice.way === wanted && isSuitable(choice));
  if (!isWanted || wanted === usual.way) return usual;
  return { way: wanted, reason: before.queue === undefined ? texts.asBefore : texts.asInQueue };
}

/**
 * Returns the way to select. A way that the person has selected, or is about to use, is never replaced by another one: if it has
 * become impossible, it is `lostWay`. Otherwise a way is proposed as soon as the browser is known.
 */
export function selectWay(
  choices: Choice[],
  selection: Selection | undefined,
  isDue: boolean,
  isKnown: boolean,
  proposal: () => Proposal,
): Pick<Selection, 'way' | 'reason' | 'lostWay' | 'isSettled'> {
  const isSettled = isKnown && (isDue || choices.length === 1);
  const selected = selection?.way ?? selection?.lostWay;
  if (selection && selected && (selection.isChosen || selection.isHeld)) {
    const isPossible = choices.some(({ way, obstacle }) => way === selected && obstacle === undefined);
    const { reason } = selection;
    return isPossible
      ? { way: selected, reason, lostWay: undefined, isSettled }
      : { way: undefined, reason: undefined, lostWay: selected, isSettled };
  }
  const nothing: Proposal = { way: undefined, reason: undefined };
  return { ...nothing, ...(isKnown ? proposal() : nothing), lostWay: undefined, isSettled };
}
