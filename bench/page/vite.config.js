import { fileURLToPath, pathToFileURL } from 'node:url';
import { defineConfig } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
/** Without another build, this one is used, but never called. */
const decant = path('../../dist/browser.js');
const other = process.env.OTHER_DECANT ?? decant;
const otherThreads = fileURLToPath(new URL('threads.js', pathToFileURL(other)));

export default defineConfig({
  resolve: {
    alias: {
      'decant-other/threads': otherThreads,
      'decant-other': other,
      'decant/threads': path('../../dist/threads.js'),
      'decant/upload': path('../../dist/upload.js'),
      decant,
    },
  },
  worker: { format: 'es' },
  build: { target: 'esnext', assetsInlineLimit: 0, emptyOutDir: true },
});
