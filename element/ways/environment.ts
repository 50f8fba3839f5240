// The ways to save a disk that the browser and the page around the element offer.

import { type DecantError, targets } from 'decant';
import { LEAST_ROOM } from '../texts/wording.js';
import type { DecantConverterElement, DecantConverterEvents } from '../types.element.js';
import type { AllTexts } from '../types.texts.js';
import type { SaveMethod } from '../types.texts-results.js';
import { isOtherTabBusy } from './busy-tab.js';
import { currentRates, type Known, probe, type Rates } from './rates.js';

/** The page around the element. */
export interface Host extends Pick<DecantConverterElement, 'output' | 'places' | 'streamedDownloads'> {
  /** Dispatches an event of the element. */
  emit<K extends keyof DecantConverterEvents>(type: K, detail: DecantConverterEvents[K]['detail']): void;
  /** Why `output` cannot be used, although the page has given one. */
  readonly outputProblem: DecantError | undefined;
}

/** The page, and the texts in its language. */
export interface Page {
  readonly host: Host;
  readonly texts: AllTexts;
}

/** The ways to save a disk that this browser offers this page. A field that is `undefined` is not known yet. */
export interface Environment {
  rates?: Rates;
  /** The methods whose rates were measured, not only estimated. */
  measured: SaveMethod[];
  /** Whether the image comes over a network, whose speed is unknown. */
  isRemote: boolean;
  /** Whether the private storage has room for the largest output whose size is known. */
  fits?: boolean;
  /** If `fits` is false: about how many bytes the private storage has room for. */
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
  /** Whether it is known what the browser can do: everything but the rates, the other tabs, the room, and what is stored already. */
  complete: boolean;
}

export function newEnvironment({ host, texts }: Page, isRemote: boolean): Environment {
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
  page: Page,
  turn: AbortSignal,
  changed: () => void,
): Promise<void> {
  const { host, texts } = page;
  const take = async (found: Partial<Environment> | Promise<Partial<Environment>>) => {
    Object.assign(environment, await found);
    changed();
  };
  if (host.output) return;
  let others: Promise<unknown> = Promise.resolve();
  if (isSecureContext) {
    others = Promise.all([
      take(isOtherTabBusy().then((otherTab) => ({ otherTab }))),
      take(ratesOfBrowser().then((known) => known ?? {})),
    ]);
    await Promise.all([
      take(window.parent === window ? {} : frameObstacles(page)),
      take(streamObstacle(host, texts).then((obstacle) => ({ stream: { obstacle } }))),
      // If the trial itself fails, the storage is not used.
      take(hasRoom(size).then((fits) => ({ fits }))),
    ]);
  }
  await take({ complete: true });
  if (environment.fits === false) {
    await Promise.all([
      // Takes as long as reading the map.
      take(isKept().then((kept) => (kept ? { fits: true } : {}))),
      take(roomBelow(size, turn).then((room) => ({ room }))),
    ]);
  }
  await others;
}

/** The rates of this browser; `undefined` if they cannot be estimated. */
export const ratesOfBrowser = (): Promise<Known | undefined> => currentRates(probe);

/** The folder picker and downloads, if the frames around the page block them. */
async function frameObstacles({ texts }: Page): Promise<Partial<Environment>> {
  const { foreignPicker, frameDownload } = texts;
  const codes = new Map((await targets()).map(({ name, refusal }) => [name, refusal?.code]));
  const picker = codes.get('folder') === 'foreign-frame' ? foreignPicker : undefined;
  const forbidden: Partial<Record<string, string>> = frameDownload;
  const download = forbidden[codes.get('download') ?? ''];
  return {
    ...(picker && { folderObstacle: picker, dialogObstacle: picker }),
    ...(download && { downloadObstacle: download }),
  };
}

const streamObstacle = async ({ streamedDownloads }: Host, texts: AllTexts): Promise<string | undefined> =>
  streamedDownloads ? streamedDownloads.obstacle() : texts.streamsNot;

/** The ratio of two successive sizes that are tried. */
const STEP = 1.25;

/**
 * Estimates the room in the private storage, in bytes, if it is less than `size`; 0 if it is less than `LEAST_ROOM`. Tries sizes in descending order: a trial
 * that fails ends at once, but one that succeeds takes time if the storage is in memory.
 */
async function roomBelow(size: number, turn: AbortSignal): Promise<number> {
  for (let tried = size / STEP; tried > LEAST_ROOM && !turn.aborted; tried /= STEP) {
    if (await hasRoom(Math.floor(tried))) return tried;
  }
  return 0;
}

/** Whether the private storage has room for a file of `size` bytes; not if that cannot be tried. */
const hasRoom = (size: number): Promise<boolean> =>
  targets({ size }).then(
    (kinds) => kinds.some(({ fits }) => fits),
    () => false,
  );
