// The path of the utility process. In a packed application, it is beside the archive, not inside.

import { fileURLToPath } from 'node:url';

/** The suffix of the folder for unpacked files. */
const beside = (path) => path.replace(/\bapp\.asar(?=[\\/])/, 'app.asar.unpacked');

export const PROCESS = beside(fileURLToPath(new URL('../work/process.mjs', import.meta.url)));
