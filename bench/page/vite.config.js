import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

export default defineConfig({
  resolve: { alias: { decant: path('../../dist/index.js') } },
  worker: { format: 'es' },
  build: { target: 'esnext', assetsInlineLimit: 0, outDir: path('../../.cache/bench/page'), emptyOutDir: true },
});
