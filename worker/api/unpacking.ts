// Unpacks an image into a temporary file: its format must be read at any position, but its bytes come in order, out of a
// compressed file or a stream.

import type { ImageSetup } from '../client-side/image-session.js';
import { ImageSessions, type LayerPasswords } from '../client-side/image-sessions.js';
import type { DecantError } from '../errors/errors.js';
import type { NoticeCode } from '../errors/names.js';
import type { OpenResult } from '../messages/coordinator.js';
import type { OpenOptions } from '../public/caller-types.js';
import type { ContainerInfo, DiskMember, MachineHardware, Notice, Snapshot } from '../public/types.js';
import type { OpenedSource } from '../sources/opened-source.js';
import type { OutputTarget, Sizes } from '../targets/output-target.js';
import { explainFull, type Spool } from '../targets/output-target.js';
import { convertInto } from './conversion-run.js';
import type { Platform } from './platform.js';
import { asPhase } from './whole-progress.js';

/** The advice if the temporary file cannot be made. */
export const OTHERWISE = 'unpack the image yourself';

/** The packed files from which a disk can be chosen. */
const ARCHIVES = ['tar', 'zip'];

/** The notices of unpacking that the image bears: they are about the containers. */
const OF_CONTAINERS: readonly NoticeCode[] = ['manifest-unchecked', 'trailer'];

/** An image that is being opened. */
export interface Opening {
  platform: Platform;
  setup: ImageSetup;
  passwords: LayerPasswords;
  options: OpenOptions & { signal: AbortSignal };
}

export interface Unpacked {
  sessions: ImageSessions;
  /** The containers that were unpacked, outermost first. */
  containers: ContainerInfo[];
  /** The disks in the outermost archive with several, or else in the innermost one; empty without an archive. */
  members: readonly DiskMember[];
  /** The name of the virtual machine whose disk was packed. */
  machine?: string;
  /** Its hardware. */
  hardware?: MachineHardware;
}

/**
 * Unpacks the image of `packed`, which ends, and opens the content. Repeats that for a packed file inside it. A disk is chosen from
 * the outermost archive with several, or that has a disk of the chosen name. Fails with `spool-full` if the content has no room, and as a
 * conversion and the opening of an image do.
 */
export async function openUnpacked(packed: ImageSessions, opening: Opening): Promise<Unpacked> {
  const { setup, passwords, options } = opening;
  const containers: ContainerInfo[] = [];
  let sessions = packed;
  let members: readonly DiskMember[] = [];
  let machine: string | undefined;
  let hardware: MachineHardware | undefined;
  let snapshots: readonly Snapshot[] = [];
  const notices: Notice[] = [];
  const isChosen = () => members.length > 1 || members.some(({ name }) => name === options.disk);
  const noteMembers = () => {
    if (!isChosen() && sessions.opened.members.length > 0) ({ members } = sessions.opened);
  };
  while (sessions.roomNeeded) {
    containers.push(...sessions.info.containers);
    machine ??= sessions.info.machine;
    hardware ??= sessions.info.hardware;
    if (snapshots.length === 0) ({ snapshots } = sessions.info);
    noteMembers();
    const { info, parts } = sessions.opened;
    notices.push(...info.safety.filter(({ code }) => code === 'raw-disk-beside'));
    settleContent(setup, sessions.opened, isChosen());
    const unpacked = await unpack(sessions, opening);
    notices.push(...unpacked.notices);
    await setup.sources.replaceImage(unpacked.content, parts);
    sessions = await ImageSessions.open(setup, passwords, options.signal);
    // The files of a zip archive are stored as those of a tar archive.
    const [archive, ...others] = sessions.info.containers;
    if (info.format === 'zip' && archive) sessions.info.containers = [{ ...archive, name: 'zip' }, ...others];
  }
  noteMembers();
  sessions.info.safety = [...sessions.info.safety, ...notices];
  if (snapshots.length > 0) sessions.info.snapshots = snapshots;
  return { sessions, containers, members, ...(machine !== undefined && { machine }), ...(hardware && { hardware }) };
}

/** Changes the settings to those for the content of the packed file that was `opened`. `isChosen`: whether the content was chosen in it. */
function settleContent(
  { sources, settings }: ImageSetup,
  { info, packedCapacity }: OpenResult,
  isChosen: boolean,
): void {
  const isArchive = ARCHIVES.includes(info.format);
  if (packedCapacity) settings.stated ??= { parents: [], isRaw: false, capacity: packedCapacity };
  // The chosen snapshot was one of the machine.
  if (info.snapshots.length > 0 && !isArchive) settings.snapshot = undefined;
  settings.isChosen = isChosen;
  if (isChosen || !isArchive) settings.disk = undefined;
  // A manifest beside the image has the digest of the packed file, not of its content.
  if (sources.companions.some(({ name }) => /\.mf$/i.test(name))) settings.checkManifest = false;
}

/** Writes the bytes of the packed file to a new temporary file. Resolves to that, with the notices that the image bears. The sessions end. */
async function unpack(
  sessions: ImageSessions,
  { platform, setup, options }: Opening,
): Promise<{ content: OpenedSource; notices: Notice[] }> {
  const { signal, onProgress } = options;
  const target = new UnpackedFile(platform.spool(options, setup.sources.all, OTHERWISE)!);
  try {
    const listening = { signal, ...(onProgress && { onProgress: asPhase('unpacking', onProgress) }) };
    const { notices } = await convertInto(target, { platform, setup, sessions, info: sessions.info }, listening);
    return { content: target.content!, notices: notices.filter(({ code }) => OF_CONTAINERS.includes(code)) };
  } finally {
    await sessions.end();
  }
}

/** The content of a file, as a temporary file. */
export class UnpackedFile implements OutputTarget {
  content: OpenedSource | undefined;

  constructor(private readonly spool: Spool) {}

  prepare(sizes: Sizes, signal: AbortSignal) {
    return this.spool.prepare(sizes, signal);
  }

  async commit(size: number): Promise<void> {
    this.content = await this.spool.source(size);
  }

  explain(reason: DecantError): DecantError {
    return explainFull(this.spool, reason);
  }

  discard(): Promise<void> {
    return this.spool.remove();
  }
}
