// Conversions by the command that are held in the middle, ended there, and continued.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { cli, listening, startProgram } from './command.js';
import { type HeldFile, heldDisk } from './held.js';

/** The files of conversions that `folder` has: temporary ones, and what is kept. */
export const leftIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('.'));
export const keptIn = (folder: string): string[] =>
  leftIn(folder).filter((name) => /\.resumable(\.journal)?$/.test(name));

export interface Left {
  partial: string;
  journal: string;
  /** All of the disk up to here is certain to be there. */
  guest: number;
}

/** The leftover in `folder`, if its journal has a line. */
export function leftOf(folder: string): Left | undefined {
  const name = readdirSync(folder).find((name) => name.endsWith('.journal'));
  if (name === undefined) return undefined;
  const journal = join(folder, name);
  const lines = readFileSync(journal, 'utf8').split('\n').slice(1, -1);
  if (lines.length === 0) return undefined;
  return { journal, partial: journal.replace(/\.journal$/, ''), guest: Number.parseInt(lines.at(-1)!, 10) };
}

/**
 * How long the server waits before it sends more, in milliseconds: longer each time, since a conversion waits ten times as
 * long as a note took before it makes another one.
 */
const PAUSES = [100, 100, 200, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600];
/** In milliseconds: a note can take half a minute beside programs that write much, and the next one waits ten times as long. */
const PATIENCE = 1_800_000;

/** Lets `remote` send until the journal in `folder` notes more than `before` bytes. The conversion cannot complete. */
export async function untilNoted(folder: string, remote: HeldFile, before = 0): Promise<Left> {
  const guest = () => {
    remote.allowMore();
    return leftOf(folder)?.guest ?? 0;
  };
  await expect.poll(guest, { timeout: PATIENCE, intervals: PAUSES }).toBeGreaterThan(before);
  return leftOf(folder)!;
}

export interface Cut {
  remote: HeldFile;
  /** The folder of the output, and the output. */
  folder: string;
  output: string;
  /** More options of the command. */
  options?: string[];
  /** Up to here everything is sent at once; an eighth of the disk by default. */
  point?: number;
}

/** The arguments of the command that convert what `remote` serves. */
export const converting = ({ remote, output, options = [] }: Cut): string[] => [
  cli,
  'convert',
  // A server that is held for five seconds would be named.
  '-q',
  '--resume',
  ...['-f', 'raw'],
  ...options,
  remote.url,
  output,
];

/** Begins a conversion and ends it by `signal` once more than `before` bytes are certain. Resolves to what it has printed. */
export async function cutOff(cut: Cut, signal: NodeJS.Signals, before = 0): Promise<string> {
  const { remote, folder, point = heldDisk.length / 8 } = cut;
  remote.allow(point);
  const { child, ended } = startProgram(process.execPath, converting(cut));
  await listening(child);
  await untilNoted(folder, remote, before);
  child.kill(signal);
  const { stderr, status } = await ended;
  // It has not ended by itself.
  expect(status).not.toBe(0);
  return stderr;
}

/** Converts to the end. Resolves to how many bytes of the disk were sent for it. */
export async function finish(cut: Cut): Promise<number> {
  cut.remote.allowAll();
  cut.remote.sent = 0;
  const { ended } = startProgram(process.execPath, converting(cut));
  expect(await ended).toMatchObject({ status: 0, stderr: '' });
  return cut.remote.sent;
}

/** In bytes: what a conversion from the start is sent at least. The state of the image is asked for besides. */
export const ALL = heldDisk.length;
/** In bytes: the first and the last bytes of an image, which identify it, and one that is asked for at the end. */
const HEAD = (512 << 10) + 512 + 1;

/** Upper bound on what a conversion is sent that begins where `guest` bytes are certain. */
export const restOf = (guest: number): number => ALL - Math.floor(guest / 4096) * 4096 + HEAD;
