// Opens images, also in a packed file and as the disk of a virtual machine, and disposes of all of them.

import type { ImageSetup } from '../client-side/image-session.js';
import { ImageSessions, LayerPasswords } from '../client-side/image-sessions.js';
import { endAllWorkers } from '../client-side/warm.js';
import { checkReadable } from '../errors/argument-checks.js';
import { cancelled, DecantError, orCancelled, toDecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { anyOf, withListener } from '../errors/signals.js';
import { frozen } from '../errors/values.js';
import { isHttp } from '../http/address.js';
import type { HttpOptions } from '../http/http-types.js';
import { RequestLimit } from '../http/request-limit.js';
import type { DiskOfMachine } from '../messages/coordinator.js';
import type { Input, OpenOptions } from '../public/caller-types.js';
import type { AnyInfo, DiskMember } from '../public/types.js';
import { type ImageSettings, Sources } from '../sources/sources.js';
import { OpenImage, openImages } from './image.js';
import { checkOpening, copyOfOpening, settle } from './options.js';
import type { Platform } from './platform.js';
import type { Opening } from './unpacking.js';
import { withProgress } from './whole-progress.js';

/** The end of the last disposal: an image that is opened before then would lose its workers. */
let disposal: Promise<void> | undefined;
/** A controller for each pending call of `open`. A disposal aborts them: the calls fail with `cancelled`. */
const openCalls = new Set<AbortController>();

/** Closes all images and ends all workers. Resolves when they have ended. */
export function disposeOfAll(): Promise<void> {
  const disposing = Promise.all([disposal, endAll()]).then(() => {
    if (disposal === disposing) disposal = undefined;
  });
  disposal = disposing;
  for (const call of openCalls) call.abort(new DecantError('cancelled', 'The package was disposed of'));
  return disposing;
}

async function endAll(): Promise<void> {
  // A close fails if its worker has died; nothing is left to close then.
  await Promise.allSettled([...openImages].map((image) => image.close()));
  await endAllWorkers();
}

/** Opens `input`, recognises its format and reads its headers. */
export async function openImageOn(platform: Platform, input: Input, given: OpenOptions = {}): Promise<OpenImage> {
  checkOpening(given);
  checkReadable('the image', input);
  const call = new AbortController();
  const signal = given.signal ? anyOf([given.signal, call.signal]) : call.signal;
  openCalls.add(call);
  try {
    const options = { ...copyOfOpening(given), signal };
    return await withProgress(given.onProgress, (onProgress) =>
      openSources(platform, input, { ...options, onProgress }),
    );
  } finally {
    openCalls.delete(call);
  }
}

type Options = Opening['options'];

/** Opens the sources, and the image in them. After a failure, all are closed. */
async function openSources(platform: Platform, input: Input, options: Options): Promise<OpenImage> {
  const { signal } = options;
  let sources: Sources | undefined;
  let passwords: LayerPasswords | undefined;
  try {
    const engine = settle(options, platform);
    if (signal.aborted) throw cancelled();
    if (disposal) await orCancelled(signal, disposal);
    passwords = new LayerPasswords(options);
    sources = await Sources.open(platform.openSource, input, options.companions ?? [], httpOptionsOf(input, options));
    if (signal.aborted) throw cancelled();
    const settings = settingsOf(options, sources, platform);
    const setup: ImageSetup = { starter: platform, sources, settings, ...engine };
    return await openImage({ platform, setup, passwords, options });
  } catch (thrown) {
    passwords?.wipe();
    await sources?.close();
    const error = toDecantError(thrown);
    if (error.kind === 'cancelled') throw cancelled('Opening the image', signal);
    throw error;
  }
}

function settingsOf(options: Options, sources: Sources, platform: Platform): ImageSettings {
  const { disk, snapshot, salvage = false, forceParent = false, checkManifest, unpack = false } = options;
  const name = options.name ?? sources.image.name;
  const spool = platform.spool(options, sources.all, '') !== undefined;
  const format = options.inputFormat;
  return { format, name, disk, isChosen: false, snapshot, salvage, forceParent, checkManifest, spool, unpack };
}

/** Opens the image; in place of the configuration of a virtual machine, its disk. */
async function openImage(opening: Opening): Promise<OpenImage> {
  const { setup, passwords, options } = opening;
  const opened = await measured(options, (...rest) => ImageSessions.openFile(setup, passwords, ...rest));
  if ('choice' in opened) throw toDecantError(opened.choice);
  if (!('disk' in opened)) return unpackedIfNeeded(opened, opening);
  const { disk } = opened;
  openDisk(setup, disk, options.name);
  const sessions = await measured(options, (...rest) => ImageSessions.open(setup, passwords, ...rest));
  const image = await unpackedIfNeeded(sessions, opening);
  describeDisk(image, disk);
  return image;
}

/** Returns the image that was `opened`, after unpacking it if necessary. Fails with `unsupported` if there is no room for that. */
async function unpackedIfNeeded(opened: ImageSessions, opening: Opening): Promise<OpenImage> {
  const { platform, setup } = opening;
  const { roomNeeded } = opened;
  if (!roomNeeded) return new OpenImage(platform, setup, opened);
  try {
    if (!setup.settings.spool) throw roomNeeded;
    const { openUnpacked } = await loadPart('unpacking', () => import('./unpacking.js'));
    const unpacked = await openUnpacked(opened, opening);
    return new OpenImage(platform, setup, unpacked.sessions, unpacked);
  } finally {
    await opened.end();
  }
}

/** Calls `open`, and reports progress while parts of a compressed file are decoded to know their sizes. */
function measured<T>(
  { onProgress, signal }: Options,
  open: (signal: AbortSignal, report: (share: number) => void) => Promise<T>,
): Promise<T> {
  const listener = (fraction: number) => onProgress?.({ phase: 'measuring', fraction });
  return withListener(signal, listener, open);
}

/** The options for requests to the image and its companions. Throws `usage` for `headers` without a URL. */
function httpOptionsOf(input: Input, options: Options): HttpOptions {
  const { signal, allowUrl, onWaiting, fetch, headers, limit = new RequestLimit() } = options;
  const common = {
    limit,
    signal,
    ...(allowUrl && { allowUrl }),
    ...(onWaiting && { onWaiting }),
    ...(fetch && { fetch }),
  };
  if (headers === undefined) return common;
  if (!isHttp(input)) {
    throw new DecantError('usage', "'headers' needs an image that is a URL; for a companion, use httpSource");
  }
  return { ...common, headers };
}

/** From now on, `setup` opens `disk` in place of the configuration that names it. `name`: that of the image, if the caller stated it. */
export function openDisk(setup: ImageSetup, disk: DiskOfMachine, name: string | undefined): void {
  const { name: path, standsFor = path } = setup.sources.companions[disk.file]!;
  setup.sources.choose(disk.file);
  const snapshot = disk.isInSnapshot ? undefined : setup.settings.snapshot;
  setup.settings = { ...setup.settings, name: name ?? standsFor, disk: undefined, snapshot, stated: disk.stated };
}

/** The description of an image. */
interface DescribedImage {
  info: AnyInfo;
  disks: readonly DiskMember[];
}

/** Describes `image`, which is `disk`, as a disk of its machine. */
export function describeDisk(image: DescribedImage, disk: DiskOfMachine): void {
  const { members, number, machine, hardware, snapshots } = disk;
  const { format } = image.info;
  image.info = frozen({
    ...image.info,
    unusedCompanions: [],
    ...(machine !== undefined && { machine }),
    ...(hardware && { hardware }),
    ...(snapshots.length > 0 && { snapshots }),
  });
  image.disks = frozen(members.map((member, at) => (at === number ? { ...member, format } : member)));
}
