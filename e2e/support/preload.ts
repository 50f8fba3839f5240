// Libraries that are loaded into a program before the C library, and answer in its place.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The path of the library that is made of the C file at `source`. */
function libraryOf(source: string): string {
  const library = fileURLToPath(new URL(`../../.cache/${basename(source, '.c')}.so`, import.meta.url));
  if (existsSync(library) && statSync(library).mtimeMs > statSync(source).mtimeMs) return library;
  mkdirSync(dirname(library), { recursive: true });
  const temporary = `${library}.${process.pid}`;
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', temporary, source, '-ldl']);
  renameSync(temporary, library);
  return library;
}

/** The environment of a process that loads the library of the C file at `source`. */
export const withLibrary = (source: URL): NodeJS.ProcessEnv => ({
  ...process.env,
  LD_PRELOAD: libraryOf(fileURLToPath(source)),
});
