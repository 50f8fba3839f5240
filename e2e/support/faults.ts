// Injects results of system calls that no file system here returns, by a library loaded before the C library.

import { withLibrary } from './preload.js';

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

/** The environment of a process that meets `fault`, and records its flushes, renames and reads in the file `log`. */
export const withFaults = ({ fault, log }: { fault?: Fault; log?: string }): NodeJS.ProcessEnv => ({
  ...withLibrary(new URL('faults.c', import.meta.url)),
  ...(fault === undefined ? {} : { DECANT_FAULT: fault }),
  ...(log === undefined ? {} : { DECANT_LOG: log }),
});
