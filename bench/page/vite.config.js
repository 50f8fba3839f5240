import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
/** Where there is no other build, this one stands in, and is not called. */
const decant = path('../../dist/browser.js');
const other = process.env.OTHER_DECANT ?? decant;

export default defineConfig({
  resolve: {
    alias: {
      'decant-other': other,
      'decant/threads': path('../../dist/threads.js'),
      'decant/upload': path('../../dist/upload.js'),
      decant,
    },
  },
  worker: { format: 'es' },
  build: { target: 'esnext', assetsInlineLimit: 0, outDir: path('../../.cache/bench/page'), emptyOutDir: true },
});
