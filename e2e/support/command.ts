// The command and programs that use the package, as separate processes. An unhandled rejection ends such a process with a stack
// trace, which fails every test.

import { type ChildProcess, execFileSync, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from './node.js';

export const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const api = new URL('../../dist/node.js', import.meta.url).href;

/** Longer than any step here on a busy machine. */
const TIMEOUT = 100_000;

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Node's output for an unhandled error. */
const UNHANDLED = /triggerUncaughtException|Unhandled|node:internal|^ {4}at /m;

/** What the command prints while a server is silent: on a busy machine, any server of a test may be. */
const SILENCE = /^decant: waiting for the server: no complete answer yet .*\n/gm;

function checked({ status, stdout, stderr }: Ended): Ended {
  expect(stderr).not.toMatch(UNHANDLED);
  return { status, stdout, stderr: stderr.replace(SILENCE, '') };
}

/** Without the program that a shell has started: under `nohup`, the command would ignore SIGHUP. */
const environment = { ...process.env, TZ: 'UTC', _: '' };

/** Runs a program to its end; `options` may give it another environment or folder. */
export function run(command: string, args: string[], options: SpawnSyncOptions = {}): Ended {
  const given = { timeout: TIMEOUT, maxBuffer: 1 << 28, env: environment, ...options, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(command, args, given);
  return checked({ status, stdout, stderr });
}

/** Runs the command to its end. */
export const decant = (...args: string[]): Ended => run(process.execPath, [cli, ...args]);

/** Runs a program with the package as `decant` and the arguments `args`. Returns the JSON that it prints. */
export function program<T>(code: string, ...args: string[]): T {
  return programIn<T>(environment, code, ...args);
}

/** As `program`, in another environment. */
export function programIn<T>(env: NodeJS.ProcessEnv, code: string, ...args: string[]): T {
  const source = `import * as decant from '${api}'; const args = process.argv.slice(1); ${code}`;
  const ended = run(process.execPath, ['--input-type=module', '-e', source, ...args], { env });
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  return JSON.parse(ended.stdout) as T;
}

export interface Started {
  child: ChildProcess;
  ended: Promise<Ended>;
}

/** A running program, and its end; its environment has `more`. `stdin` is a pipe if a test feeds it. */
export function startProgram(
  command: string,
  args: string[],
  more: Record<string, string> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): Started {
  const child = spawn(command, args, { env: { ...environment, ...more }, stdio: [stdin, 'pipe', 'pipe'] });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (data: string) => {
      text[name] += data;
    });
  }
  const ended = new Promise<Ended>((done) => child.on('close', (status) => done({ status, ...text })));
  return { child, ended: ended.then(checked) };
}

/** Starts the command. */
export const start = (...args: string[]) => startProgram(process.execPath, [cli, ...args]);

/** Starts the command with a standard input that the test feeds: the command waits for it. */
export function startFed(...args: string[]): Started {
  const started = startProgram(process.execPath, [cli, ...args], {}, 'pipe');
  // The command may end before it has read all.
  started.child.stdin!.on('error', () => {});
  return started;
}

/** Waits until the system reports that the command handles signals: the last one is SIGHUP, 1. */
export async function listening({ pid }: Pick<ChildProcess, 'pid'>): Promise<void> {
  const listens = () => {
    const caught = /SigCgt:\s+([0-9a-f]+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!;
    return (BigInt(`0x${caught}`) & 1n) === 1n;
  };
  await expect.poll(listens).toBe(true);
}

export const sudo = process.getuid!() === 0 ? [] : ['sudo', '-n'];

/** Runs a command as root. */
export function asRoot(...args: string[]): string {
  const [command, ...rest] = [...sudo, ...args];
  return execFileSync(command!, rest, { encoding: 'utf8' }).trim();
}
