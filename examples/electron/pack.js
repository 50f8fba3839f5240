// Packs what the application consists of into `out/app.asar`, and what cannot lie in there into `out/app.asar.unpacked`.

import { cp, rm } from 'node:fs/promises';
import { createPackageWithOptions } from '@electron/asar';

const PARTS = ['package.json', 'main', 'preload', 'renderer', 'work', 'node_modules/decant'];

await rm('out', { recursive: true, force: true });
for (const part of PARTS) await cp(part, `out/app/${part}`, { recursive: true });
await createPackageWithOptions('out/app', 'out/app.asar', { unpackDir: '{work,node_modules/decant}' });
