// Shared by the scripts: runs commands, fails with a message, and skips outputs that are up to date.

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The crates of the workspace beside the core: the folders in `crate/` with a Cargo.toml, other than the fuzz targets. */
export const CRATES = readdirSync(join(root, 'crate')).filter(
  (name) => name !== 'fuzz' && existsSync(join(root, 'crate', name, 'Cargo.toml')),
);

export const say = (text) => console.log(`decant: ${text}`);

/** Ends the script with a message about the failure, and advice. */
export function fail(what, todo) {
  console.error(`decant: ${what}`);
  if (todo) console.error(`decant: ${todo}`);
  process.exit(1);
}

/** Runs a command and shows its output. Ends the script if the command fails. */
export function run(doing, command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.error) fail(`${doing}: '${command}' could not be started (${result.error.code}).`, options.todo);
  if (result.status !== 0) {
    fail(
      `${doing} failed: '${[command, ...args].join(' ')}' ended with ${result.status ?? result.signal}.`,
      options.todo,
    );
  }
}

/** The output of a command; `undefined` if it fails. */
export function ask(command, args, options = {}) {
  try {
    return execFileSync(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      encoding: 'utf8',
      ...options,
    }).trim();
  } catch {
    return undefined;
  }
}

/** The path of a program. Debian keeps some in folders that are not in every PATH. */
export function which(program) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, program)).find(existsSync);
}

/** The path of a binary of an installed npm package. */
export const bin = (name) => join(root, 'node_modules', '.bin', name);

/** The source files of a build, without the tests beside them. */
function* files(path) {
  if (!statSync(path).isDirectory()) {
    if (!path.endsWith('.test.ts')) yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) {
    if (!['target', 'node_modules'].includes(name)) yield* files(join(path, name));
  }
}

function fingerprint(inputs) {
  const hash = createHash('sha256');
  for (const input of inputs) {
    for (const file of files(join(root, input)))
      hash.update(relative(root, file)).update('\0').update(readFileSync(file));
  }
  return hash.digest('hex');
}

const stampFile = (name) => join(root, '.cache', `${name}.stamp`);

/** Whether `output` exists, and was made from inputs with the digest `now`. */
function isMadeOf(now, name, output) {
  const stamp = stampFile(name);
  return existsSync(join(root, output)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === now;
}

/** Whether `output` exists, and `inputs` have not changed since it was made. */
export const isDone = (name, { inputs, output }) => isMadeOf(fingerprint(inputs), name, output);

/** Runs `work` unless its output is up to date. The digest of its inputs is kept in `.cache`. */
export async function unlessDone(name, { inputs, output }, work) {
  const now = fingerprint(inputs);
  if (isMadeOf(now, name, output)) return;
  const stamp = stampFile(name);
  // Until `work` is done, the output is incomplete.
  rmSync(stamp, { force: true });
  await work();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, now);
}
