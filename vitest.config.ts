// Tests of plain functions and classes, beside the sources that they test: no build, no browser.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    alias: {
      'decant/contents': fileURLToPath(new URL('worker/contents/index.ts', import.meta.url)),
      'decant/places': fileURLToPath(new URL('worker/places/index.ts', import.meta.url)),
      'decant/upload': fileURLToPath(new URL('worker/upload/index.ts', import.meta.url)),
      'decant-module': fileURLToPath(new URL('crate/module/src/module.js', import.meta.url)),
      decant: fileURLToPath(new URL('worker/browser.ts', import.meta.url)),
    },
  },
  test: {
    include: ['{worker,element,web}/**/*.test.ts'],
    maxWorkers: 2,
    restoreMocks: true,
    unstubGlobals: true,
    // A busy machine takes longer than Vitest's 5 s.
    testTimeout: 60_000,
  },
});
