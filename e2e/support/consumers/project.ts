// Empty projects that have the packed package as a dependency: made from templates, installed and built by npm.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const templates = fileURLToPath(new URL('../../consumers/projects', import.meta.url));
export const folder = join(root, '.cache', 'consumers');

const MINUTE = 60_000;

/** The day whose packages npm takes where a manifest has no exact version: those that the named ones depend on. */
const DAY = '2026-11-22';

/** Projects ask nobody anything, and tell nobody anything. */
const environment = { NEXT_TELEMETRY_DISABLED: '1', NG_CLI_ANALYTICS: 'false', DO_NOT_TRACK: '1' };

/** The last output of a program, without the colours of a terminal. */
const tail = (text: string): string => stripVTControlCharacters(text).slice(-4000);

/** Runs a command to its end; fails with what it printed. */
async function run(cwd: string, command: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd, timeout: 10 * MINUTE, maxBuffer: 1 << 28, env: { ...process.env, ...environment, ...env } };
  try {
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (thrown) {
    const { stdout, stderr, message } = thrown as Error & { stdout: string; stderr: string };
    throw new Error(`'${[command, ...args].join(' ')}' failed\n${tail(`${message}\n${stdout}\n${stderr}`)}`);
  }
}

/** The digest of what files below these folders are called and contain. */
function digest(...folders: string[]): string {
  const hash = createHash('sha256');
  for (const folder of folders) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      hash.update(path).update('\0').update(readFileSync(path));
    }
  }
  return hash.digest('hex');
}

let tarball: Promise<string> | undefined;

/** The package as npm would publish it, called by its digest; or the file that DECANT_TARBALL names. */
async function pack(): Promise<string> {
  mkdirSync(folder, { recursive: true });
  let packed = process.env.DECANT_TARBALL;
  if (packed === undefined) {
    const args = ['pack', '--json', '--pack-destination', folder];
    const [{ filename }] = JSON.parse(await run(root, 'npm', args)) as [{ filename: string }];
    packed = join(folder, filename);
  }
  // npm installs anew what has another name.
  const hash = createHash('sha256').update(readFileSync(packed)).digest('hex').slice(0, 12);
  const named = join(folder, `decant-${hash}.tgz`);
  if (!existsSync(named)) cpSync(packed, named);
  return named;
}

/** Runs `work`, unless it was done with the same `state` before. */
async function unlessDone(stamp: string, state: string, work: () => Promise<unknown>): Promise<void> {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === state) return;
  rmSync(stamp, { force: true });
  await work();
  writeFileSync(stamp, state);
}

export interface Project {
  folder: string;
  /** The inputs that its content depends on. */
  state: string;
}

interface Options {
  /** Whether its development dependencies are installed too. */
  tools?: boolean;
}

/** The project `name`, installed: the files of `layers` over each other, where the last one has the `package.json`. */
export async function project(name: string, layers: string[], { tools = true }: Options = {}): Promise<Project> {
  tarball ??= pack();
  const packed = await tarball;
  const sources = layers.map((layer) => join(templates, layer));
  const made = { folder: join(folder, name), state: `${packed} ${digest(...sources)}` };
  const manifest = JSON.parse(readFileSync(join(sources.at(-1)!, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies?: object;
  };
  if (!tools) delete manifest.devDependencies;
  manifest.dependencies.decant = `file:${packed}`;
  const text = JSON.stringify(manifest, null, 2);
  mkdirSync(made.folder, { recursive: true });
  for (const source of sources) cpSync(source, made.folder, { recursive: true });
  writeFileSync(join(made.folder, 'package.json'), text);
  await unlessDone(join(made.folder, '.installed'), text, () =>
    run(made.folder, 'npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `--before=${DAY}`]),
  );
  return made;
}

/** Builds the project for production by its script `build`; answers with the folder of what was made. */
export async function build(project: Project, script: string, output: string, env = {}): Promise<string> {
  const made = join(project.folder, output);
  await unlessDone(join(project.folder, `.${script.replace(':', '-')}`), project.state, async () => {
    if (output !== '.') rmSync(made, { recursive: true, force: true });
    await run(project.folder, 'npm', ['run', script], { NODE_ENV: 'production', ...env });
  });
  return made;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface DevServer {
  url: string;
  /** Its output so far. */
  log(): string;
  close(): Promise<void>;
}

/** Starts the project's development server, by its script, and waits until it answers at `path`. */
export async function develop(project: Project, script: string, path: string, env = {}): Promise<DevServer> {
  const port = await freePort();
  const child = spawn('npm', ['run', script], {
    cwd: project.folder,
    env: { ...process.env, ...environment, ...env, PORT: String(port) },
    // Some end when their standard input does.
    stdio: 'pipe',
    // A group of its own: npm starts a shell, and that the server.
    detached: true,
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  const server = { url: `http://localhost:${port}${path}`, log: () => tail(log), close: () => end(child) };
  for (const until = Date.now() + 2 * MINUTE; ; await new Promise((resolve) => setTimeout(resolve, 300))) {
    const answer = await fetch(server.url).catch(() => undefined);
    if (answer?.ok) return server;
    if (child.exitCode === null && Date.now() < until) continue;
    await server.close();
    throw new Error(`${script} does not answer ${answer?.status ?? ''}\n${server.log()}`);
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    process.kill(-child.pid!, 'SIGTERM');
  } catch {
    // It has ended by itself.
    return;
  }
  const hard = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 5000);
  await ended;
  clearTimeout(hard);
}
