// The hardware of the machine that an output describes: what the caller states, else what the configuration of the image's machine
// states, else what the disk shows. The core has defaults for the rest.

import type { ImageSessions } from '../client-side/image-sessions.js';
import { hardwareShown } from '../contents/hardware.js';
import { loadPart } from '../errors/load-part.js';
import { definedOf } from '../errors/values.js';
import type { Output, SettledOptions } from '../public/caller-types.js';
import type { AnyInfo, MachineHardware, OutputFormat } from '../public/types.js';
import { loadPlaces } from './output-format.js';
import { readRange } from './reading.js';

const MIB = 1 << 20;

/** The image, and what is known of it. */
interface ImageOfMachine {
  sessions: ImageSessions;
  info: AnyInfo;
}

/** Whether files in the format `name` describe a machine. */
export const describesMachine = (formats: readonly OutputFormat[], name: string | undefined): boolean =>
  formats.find((format) => format.name === name)?.options.some(({ name }) => name === 'cpus') ?? false;

/**
 * Resolves to `options` with the hardware of the machine, if their format, or that of their place, describes a machine. Fails as unlocking
 * the image does, and with `usage` for an unknown place or a format that it does not accept.
 */
export async function withHardware<T extends SettledOptions & { signal: AbortSignal }>(
  { sessions, info }: ImageOfMachine,
  output: Output,
  options: T,
): Promise<T> {
  const chosen = options.for === undefined ? options : (await loadPlaces()).choiceOf(options);
  const { format, formatOptions: given = {} } = chosen;
  if (!describesMachine(sessions.opened.formats, format)) return options;
  const { signal } = options;
  const extension = sessions.opened.formats.find(({ name }) => name === format)?.extension ?? '';
  const stated = { ...nameFor(output, info, extension), ...optionsOf(info.hardware), ...given };
  const isShown = stated.firmware !== undefined && stated.os !== undefined;
  const shown = isShown || sessions.opened.comesInOrder ? {} : await shownBy(sessions, info, signal);
  return { ...options, ...(format !== undefined && { format }), formatOptions: { ...shown, ...stated } };
}

/** The options for `hardware`. */
function optionsOf(hardware: MachineHardware = {}): Record<string, string> {
  const { cpus, memory, firmware, os, controller, network } = hardware;
  return definedOf({
    cpus: cpus?.toString(),
    memory: memory === undefined ? undefined : `${memory / MIB}M`,
    firmware,
    os,
    controller,
    network: network?.length === 0 ? 'none' : network?.join('+'),
  });
}

/** The name of the machine: that of the output's file, or else of the image's machine, or of the image. */
function nameFor(output: Output, { machine, name }: AnyInfo, extension: string): Record<string, string> {
  const file = fileOf(output);
  const found = file === undefined ? (machine ?? (name && withoutExtension(name))) : withoutExtension(file, extension);
  return found ? { name: found } : {};
}

/** Removes `extension`, or any one. */
function withoutExtension(name: string, extension?: string): string {
  if (extension === undefined) return name.replace(/\.[^.]*$/, '');
  return name.toLowerCase().endsWith(extension) ? name.slice(0, -extension.length) : name;
}

/** The name of the file that `output` makes, if it has one. */
function fileOf(output: Output): string | undefined {
  const base = (path: string) => path.slice(path.lastIndexOf('/') + 1);
  if (typeof output === 'string') return base(output);
  if (output instanceof URL) return base(output.pathname);
  const { name, opfs, download } = output as { name?: unknown; opfs?: unknown; download?: unknown };
  const named = [name, opfs, download].find((name) => typeof name === 'string');
  return named === undefined ? undefined : base(named as string);
}

/** The options that the content of the disk shows; none if it cannot be read, which the conversion reports. */
async function shownBy(sessions: ImageSessions, info: AnyInfo, signal: AbortSignal): Promise<Record<string, string>> {
  const { contentsOf } = await loadPart('contents', () => import('../contents/index.js'));
  // A failure to unlock is thrown: if it were ignored, the caller's function would be asked for the same password again.
  const session = await sessions.acquire(signal);
  try {
    const read = (offset: number, length: number) => readRange(session, offset, length, signal);
    // A disk that cannot be read shows nothing. The conversion reports the damage.
    const contents = await contentsOf(read, info.virtualSize ?? 0).catch(() => undefined);
    return contents ? hardwareShown(contents) : {};
  } finally {
    await session.release();
  }
}
