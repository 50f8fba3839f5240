// Answers of the system that no file system here gives: a library that is loaded before the C library gives them.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Fault =
  | 'fchmod EPERM'
  | 'fchown EPERM'
  | 'folder EACCES'
  | 'fsync EIO'
  | 'link EPERM'
  | 'read slow'
  | 'truncate nothing'
  | 'unlink EPERM'
  | 'write short'
  | 'write zero';

const source = fileURLToPath(new URL('faults.c', import.meta.url));
const library = fileURLToPath(new URL('../../.cache/faults.so', import.meta.url));

function build(): string {
  if (existsSync(library) && statSync(library).mtimeMs > statSync(source).mtimeMs) return library;
  mkdirSync(dirname(library), { recursive: true });
  const temporary = `${library}.${process.pid}`;
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', temporary, source, '-ldl']);
  renameSync(temporary, library);
  return library;
}

/** The environment of a process that meets with `fault`, and notes in the file `log` what it flushes, renames and reads. */
export const withFaults = ({ fault, log }: { fault?: Fault; log?: string }): NodeJS.ProcessEnv => ({
  ...process.env,
  LD_PRELOAD: build(),
  ...(fault === undefined ? {} : { DECANT_FAULT: fault }),
  ...(log === undefined ? {} : { DECANT_LOG: log }),
});
