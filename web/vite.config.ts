import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** What isolates the page, so that it may share memory between threads. */
const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
/** The page needs its own files only; `wasm-unsafe-eval` lets it compile WebAssembly. */
const policy = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'",
};

export default defineConfig({
  base: './',
  resolve: { alias: { decant: path('../dist/index.js') } },
  worker: { format: 'es' },
  build: { target: 'esnext', assetsInlineLimit: 0, outDir: '../site', emptyOutDir: true },
  server: { headers: isolation, fs: { allow: [path('..')] } },
  preview: { headers: { ...isolation, ...policy } },
});
