// Where the process that works starts. In an application that is packed it lies beside the archive, not inside of it.

import { fileURLToPath } from 'node:url';

/** The folder that Electron's tools unpack files to is called as the archive, and this. */
const beside = (path) => path.replace(/\bapp\.asar(?=[\\/])/, 'app.asar.unpacked');

export const PROCESS = beside(fileURLToPath(new URL('../work/process.mjs', import.meta.url)));
