// Packs the application into `out/app.asar`, and the files that must be unpacked into `out/app.asar.unpacked`.

import { cp, rm } from 'node:fs/promises';
import { createPackageWithOptions } from '@electron/asar';

/** What the utility process needs, also `undici`, the package's dependency. */
const UNPACKED = ['work', 'node_modules/decant', 'node_modules/undici'];
const PARTS = ['package.json', 'main', 'preload', 'renderer', ...UNPACKED];

await rm('out', { recursive: true, force: true });
for (const part of PARTS) await cp(part, `out/app/${part}`, { recursive: true });
await createPackageWithOptions('out/app', 'out/app.asar', { unpackDir: `{${UNPACKED.join(',')}}` });
