// The step after a conversion: commands that bring the files to their place.

import { hardwareShown } from '../contents/hardware.js';
import { orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import type { PlaceName } from '../errors/names.js';
import { isObject } from '../errors/values.js';
import type { MachineHardware, Notice } from '../public/types.info.js';
import type { MadeDisk, NextStep, Place } from '../public/types.places.js';
import { extensionOf, type Machine, MIB, type NamedDisk, type Own } from './place.js';
import { PLACES } from './registry.js';
import { Word } from './words.js';

/**
 * Returns the commands that bring the converted disks of one machine to `place`, the name of a place: one script for all of them, the
 * disk that boots first. Names of files are quoted for the shell, whatever they contain. `values` has the person's values for
 * placeholders, which are quoted too. Returns `undefined` for a place that needs no further step, and for an unknown one. Throws
 * `usage` if an argument has the wrong type.
 */
export function nextStep(
  place: PlaceName,
  disks: MadeDisk | readonly MadeDisk[],
  values: Readonly<Record<string, string>> = {},
): NextStep | undefined {
  if (typeof place !== 'string') throw new DecantError('usage', 'The place must be a string');
  const machine = orUsageError('the converted disks', () => machineOf(checked(disks)));
  const own = ownOf(values);
  const known = PLACES.find(({ name }) => name === place);
  if (!known) return undefined;
  const { shell = 'sh', commands = () => [] } = known.next ?? {};
  const step = { shell, commands: commands(machine, own), notices: driversFor(known, machine) };
  return step.commands.length + step.notices.length > 0 ? step : undefined;
}

/** The disks; fails with `usage` if they are not disks. */
function checked(made: unknown): [MadeDisk, ...MadeDisk[]] {
  const disks: unknown[] = Array.isArray(made) ? made : [made];
  const isDisk = (disk: unknown) => {
    const given = isObject(disk) ? (disk as Record<string, unknown>) : {};
    const { file, format, outputSize, virtualSize, machine = '', hardware = {}, contents = { partitions: [] } } = given;
    return (
      [file, format, machine].every((text) => typeof text === 'string') &&
      [outputSize, virtualSize].every((size) => Number.isSafeInteger(size)) &&
      isHardware(hardware) &&
      isObject(contents) &&
      'partitions' in contents
    );
  };
  if (disks.length > 0 && disks.every(isDisk)) return disks as [MadeDisk, ...MadeDisk[]];
  const takes =
    'nextStep takes a place, and { file, format, outputSize, virtualSize } of the converted disk, or a list of them';
  throw new DecantError('usage', takes);
}

function isHardware(hardware: unknown): boolean {
  if (!isObject(hardware)) return false;
  const { cpus = 1, memory = MIB, firmware = '', os = '', controller = '' } = hardware as Record<string, unknown>;
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;
  return [cpus, memory].every(isCount) && [firmware, os, controller].every((text) => typeof text === 'string');
}

/** Returns the words for placeholders: the person's values, or else the placeholders. */
function ownOf(values: unknown): Own {
  const given = orUsageError(
    'the values',
    () => new Map<string, unknown>(isObject(values) ? Object.entries(values) : []),
  );
  if (!isObject(values) || [...given.values()].some((value) => typeof value !== 'string')) {
    throw new DecantError('usage', 'The values for placeholders must be strings');
  }
  return (placeholder) => new Word((given.get(placeholder) as string | undefined) || placeholder, [placeholder]);
}

/** The machine of the disks: what their configuration states, or else what they show. */
function machineOf(made: [MadeDisk, ...MadeDisk[]]): Machine {
  const stated = made.map(({ hardware }) => hardware ?? {});
  const shown = made.map(({ contents }) => (contents ? hardwareShown(contents) : {}));
  const known: MachineHardware[] = [...stated, ...shown];
  const first = <K extends keyof MachineHardware>(name: K): MachineHardware[K] | undefined =>
    known.find((hardware) => hardware[name] !== undefined)?.[name];
  const os = first('os');
  const memory = first('memory');
  const disks = named(made);
  const machine = made.find(({ machine }) => machine)?.machine;
  return {
    name: machine === undefined ? disks[0].name : plain(machine),
    cpus: first('cpus'),
    memory: memory && Math.ceil(memory / MIB),
    firmware: first('firmware'),
    os,
    system: systemOf(os),
    disks,
  };
}

/** Systems of `MachineHardware` that are Linux. */
const LINUX = ['linux', 'ubuntu', 'debian', 'centos', 'rhel', 'sles'];

function systemOf(os = ''): Machine['system'] {
  if (os.startsWith('windows')) return 'windows';
  return LINUX.includes(os) ? 'linux' : undefined;
}

const EXTENSION = /(?:\.tar\.gz|\.raw\.(?:gz|xz|zst)|\.[^.]*)$/i;

/** Gives each disk names that no other has. */
function named(made: [MadeDisk, ...MadeDisk[]]): [NamedDisk, ...NamedDisk[]] {
  const taken = new Set<string>();
  const [first, ...others] = made.map((disk): NamedDisk => {
    const { file, format, hardware } = disk;
    const stem = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1).replace(EXTENSION, '');
    let name = plain(stem);
    for (let number = 2; taken.has(name); number++) name = `${plain(stem, MOST - 4)}-${number}`;
    taken.add(name);
    return {
      ...disk,
      path: pathOf(file),
      name,
      object: `${name}.${extensionOf(format)}`,
      controller: hardware?.controller,
    };
  });
  return [first!, ...others];
}

/** Returns `file` so that no program takes it for an option, or its beginning for the name of a server, as tar does before a colon. */
function pathOf(file: string): string {
  const isOnDrive = /^[a-z]:[\\/]/i.test(file);
  return !isOnDrive && /^-|^[^\\/]*:/.test(file) ? `./${file}` : file;
}

/** The longest name. */
const MOST = 60;

/** Returns a name that all places accept: at most `most` lower-case letters, digits and dashes, beginning with a letter. */
function plain(name: string, most = MOST): string {
  const letters = name
    // Letters without their accents: ü is u.
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '');
  return letters.slice(0, most).replace(/-+$/, '') || 'disk';
}

/** The notice about drivers that the system on the disks may need in `place`, which Decant does not install. */
function driversFor({ name: place, label, drivers }: Place, { system }: Machine): Notice[] {
  const source = system && drivers?.[system];
  if (!drivers || !source) return [];
  const which = `${drivers.name} drivers`;
  const needs = system === 'windows' ? `Windows may need ${which}` : `Linux may need ${which} in its initramfs`;
  const message = `${needs} to start in ${label}, and Decant does not add them`;
  return [{ code: 'guest-drivers', fields: { place, label, system, drivers: drivers.name, source }, message }];
}
