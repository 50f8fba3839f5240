// Verifies a finished output: reads it back by Decant's own reader, and compares its disks with those that were written.

import type { ImageSetup } from '../client-side/image-session.js';
import { ImageSessions, LayerPasswords } from '../client-side/image-sessions.js';
import { DecantError, toDecantError } from '../errors/errors.js';
import type { Converted } from '../messages/coordinator.js';
import { OUTPUTS } from '../public/registry.js';
import type { Progress } from '../public/types.js';
import { type ImageSettings, Sources } from '../sources/sources.js';
import type { ConversionContext } from './conversion-disks.js';
import { differingParts, newSeed, SUMMED, type SummedDisk, sumsOf } from './guest-sums.js';
import type { RunOptions } from './options.js';
import type { ChosenFormat } from './output-format.js';
import { DIFFERS, UNREADABLE, type Verification } from './read-back.js';
import { readRange } from './reading.js';

/** The size of a sector, in bytes. */
const SECTOR = 512;

/** A new verification of a conversion of `disks`. For `isOptional`, see {@link Verification}. */
export function newVerification(disks: ConversionContext[], isOptional: boolean): Verification {
  const seed = newSeed();
  return {
    seed,
    isOptional,
    async compare(output, converted, chosen, options, report) {
      const sources = await Sources.of(output);
      const sizes = converted.disks.map(({ diskSize }) => diskSize);
      let before = 0;
      for (const [at, diskSize] of sizes.entries()) {
        const settings = settingsFor(chosen, sizes.length > 1 ? at + 1 : undefined);
        // A compressed file without content is not opened.
        if (diskSize === 0 && settings.unpack) continue;
        const setup = { ...disks[0]!.setup, sources, settings };
        const onDone = (done: number) => report(before + done);
        const read = await disk(disks[0]!, setup, seed, options, onDone, async (found, written) => {
          const expected = { sums: converted.sums[at]!, virtualSize: sizeReadBack(chosen, diskSize) };
          const part = firstDifference(expected, found);
          if (part === undefined) return;
          const offset = await firstDifferingByte(part, { disks, at, converted }, written, options.signal);
          throw differs(offset, sizes.length > 1 ? at + 1 : undefined);
        });
        before += read.virtualSize;
      }
      return before;
    },
  };
}

/** The size of a disk of `diskSize` bytes in an output of this format, as it is read: a raw disk is read in whole sectors. */
function sizeReadBack({ name }: ChosenFormat, diskSize: number): number {
  const { content } = OUTPUTS.find((output) => output.name === name)!;
  return content === 'raw' ? Math.ceil(diskSize / SECTOR) * SECTOR : diskSize;
}

/** The settings that open disk number `disk` of an output in the format `chosen`, if it has several. */
function settingsFor({ name }: ChosenFormat, disk: number | undefined): ImageSettings {
  const { content, containers } = OUTPUTS.find((output) => output.name === name)!;
  const isContainer = containers > 0;
  return {
    // Any other format is recognised in the container.
    format: isContainer && content !== 'raw' ? undefined : content,
    // Otherwise the container would be the raw disk.
    unpack: isContainer && content === 'raw',
    // The disk may begin like a container.
    containers,
    disk,
    isChosen: false,
    salvage: false,
    forceParent: false,
    spool: false,
  };
}

/** Opens a disk of the output, computes its sums, and compares them by `compare`. */
async function disk(
  { platform }: ConversionContext,
  setup: ImageSetup,
  seed: Uint8Array,
  { signal, memory }: RunOptions,
  report: (done: number) => void,
  compare: (found: SummedDisk, written: ImageSessions) => Promise<void>,
): Promise<SummedDisk> {
  let sessions: ImageSessions | undefined;
  try {
    sessions = await ImageSessions.open(setup, new LayerPasswords({}), signal);
    const context = { platform, setup, sessions, info: sessions.info };
    const onProgress = ({ guestDone = 0 }: Progress) => report(guestDone);
    const found = await sumsOf(context, seed, { signal, memory, onProgress });
    await compare(found, sessions);
    return found;
  } catch (thrown) {
    throw unreadable(toDecantError(thrown));
  } finally {
    await sessions?.end();
  }
}

/** The guest offset of the first MiB in which the disks differ, or where one of them ends; `undefined` if they are the same. */
function firstDifference(expected: SummedDisk, found: SummedDisk): number | undefined {
  const part = differingParts(expected.sums, found.sums).next().value ?? undefined;
  if (expected.virtualSize === found.virtualSize) return part;
  const end = Math.min(expected.virtualSize, found.virtualSize);
  return part === undefined || end < part ? end : part;
}

/**
 * Resolves to the guest offset of the first byte that differs, from `part` on; to `part` if it is not the start of a MiB, or if the disk cannot be
 * read there again.
 */
async function firstDifferingByte(
  part: number,
  { disks, at, converted }: { disks: ConversionContext[]; at: number; converted: Converted },
  written: ImageSessions,
  signal: AbortSignal,
): Promise<number> {
  const { rewritten, virtualSize } = converted.disks[at]!;
  const isRewritten = rewritten.some(({ start, end }) => start < part + SUMMED && part < end);
  if (part % SUMMED !== 0 || isRewritten) return part;
  try {
    const source = disks[at]!.sessions;
    const [expected, found] = [
      await bytesOf(source, part, Math.min(virtualSize, source.info.virtualSize ?? 0), signal),
      await bytesOf(written, part, written.info.virtualSize ?? 0, signal),
    ];
    const differing = expected.findIndex((byte, index) => byte !== found[index]);
    return part + Math.max(differing, 0);
  } catch {
    // A stream, for example. That the disks differ is known.
    return part;
  }
}

/** A MiB of the disk, from `offset`. The bytes after the end of the disk are zeros. */
async function bytesOf(
  sessions: ImageSessions,
  offset: number,
  virtualSize: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(SUMMED);
  const length = Math.min(SUMMED, virtualSize - offset);
  if (length <= 0) return bytes;
  const session = await sessions.acquire(signal);
  try {
    bytes.set(await readRange(session, offset, length, signal));
    return bytes;
  } finally {
    await session.release();
  }
}

function differs(offset: number, disk: number | undefined): DecantError {
  const which = disk === undefined ? 'the disk' : `disk ${disk}`;
  const message = `The output differs from what was written: read back, ${which} has other bytes from byte ${offset} on; check the storage and the memory of this computer, and convert again`;
  return new DecantError('target', message, { code: DIFFERS, fields: { offset, ...(disk !== undefined && { disk }) } });
}

/**
 * The failure to read the output back because of `cause`. A cancel, and a lack of memory, say nothing about the output. A `usage` does:
 * the options are those of the output, so the output is not what they say.
 */
function unreadable(cause: DecantError): DecantError {
  if (['cancelled', 'internal', 'target'].includes(cause.kind)) return cause;
  const reason = cause.code === 'nothing-to-unpack' ? 'it does not begin like a compressed file' : cause.message;
  const message = `The output cannot be read back: ${reason}`;
  return new DecantError('target', message, { code: UNREADABLE, fields: { reason }, cause });
}
