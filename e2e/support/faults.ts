// Answers of the system that no file system here gives: a library that is loaded before the C library gives them.

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

/** The environment of a process that meets with `fault`, and notes in the file `log` what it flushes, renames and reads. */
export const withFaults = ({ fault, log }: { fault?: Fault; log?: string }): NodeJS.ProcessEnv => ({
  ...withLibrary(new URL('faults.c', import.meta.url)),
  ...(fault === undefined ? {} : { DECANT_FAULT: fault }),
  ...(log === undefined ? {} : { DECANT_LOG: log }),
});
