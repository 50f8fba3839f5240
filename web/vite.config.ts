import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import packageJson from '../package.json' with { type: 'json' };
import { serviceWorker } from './service-worker/build.js';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Isolates the page, so that its threads may share memory. */
const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
/**
 * Allows only the page's own files, and images on servers. `wasm-unsafe-eval` permits WebAssembly. A frame starts each
 * streamed download.
 */
const policy = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self' https: http:; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'",
};

/** Writes the version into the page's foot. */
const version = {
  name: 'version',
  transformIndexHtml: (html: string) => html.replace('%VERSION%', packageJson.version),
};

/** The bundler warns when its plugins take most of the time, as bundling the workers does. */
const WITHOUT_TIMES = { checks: { pluginTimings: false } };

/** What the page loads at once is one file: its script with all that it imports, and the places, which each image needs. */
const FIRST_LOAD = { name: 'index', test: /web.main\.ts$|dist.of-image\.shared\.js$/ };

export default defineConfig({
  base: './',
  resolve: {
    alias: {
      'decant/element': path('../dist/element.js'),
      'decant/threads': path('../dist/threads.js'),
      decant: path('../dist/browser.js'),
    },
  },
  worker: { format: 'es', rolldownOptions: WITHOUT_TIMES },
  plugins: [serviceWorker(), version],
  // These files get a digest in their names, like all files except the page itself.
  html: {
    additionalAssetSources: { 'decant-converter': { srcAttributes: ['sample'] }, a: { srcAttributes: ['href'] } },
  },
  build: {
    target: 'esnext',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    outDir: '../site',
    emptyOutDir: true,
    rolldownOptions: { ...WITHOUT_TIMES, output: { codeSplitting: { groups: [FIRST_LOAD] } } },
  },
  server: { headers: isolation, fs: { allow: [path('..')] } },
  preview: { headers: { ...isolation, ...policy } },
});
