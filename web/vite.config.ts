import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { type CompressOptions, minify } from 'terser';
import { defineConfig, type Plugin } from 'vite';
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

/** Vite's helper preloads the styles of what is imported later, which has none. */
const withoutPreloads: Plugin = {
  name: 'without-preloads',
  enforce: 'pre',
  load: (id) => (id.endsWith('vite/preload-helper.js') ? 'export const __vitePreload = (load) => load();' : undefined),
};

/** Returns `code` without the calls of that helper, for code in other files and in the same one. */
const withoutHelper = (code: string): string =>
  code.replaceAll(
    /\b\w+\(\(\)=>(import\([^()]+\)|Promise\.resolve\(\)\.then\(\(\)=>\w+\)),[^()]*,import\.meta\.url\)/g,
    '$1',
  );

/** Options for one round after the other. Which result is the smallest when it is compressed is hard to foresee. */
const ROUNDS: CompressOptions[] = [
  { passes: 2 },
  { passes: 2, inline: 1, reduce_funcs: false, join_vars: false },
  { passes: 1 },
  { passes: 2, ecma: 2020, unsafe_arrows: true },
];

/** Minifies scripts once more: a page has less to load than after the bundler's minifier alone. */
const minified: Plugin = {
  name: 'minified',
  async generateBundle(_, files) {
    for (const file of Object.values(files)) if (file.type === 'chunk') file.code = await smallest(file.code);
  },
};

async function smallest(chunk: string): Promise<string> {
  const results = [withoutHelper(chunk)];
  for (const compress of ROUNDS) results.push((await minify(results.at(-1)!, { module: true, compress })).code!);
  const sizes = results.map((result) => brotliCompressSync(result).length);
  return results[sizes.indexOf(Math.min(...sizes))]!;
}

/** Minifying takes most of a build, and need not be reported. */
const QUIET = { checks: { pluginTimings: false } };

/** What the page loads at once is one file: its script with all that it imports, and the places, which each image needs. */
const AT_ONCE = { name: 'index', test: /web.main\.ts$|dist.of-image\.shared\.js$/ };

export default defineConfig({
  base: './',
  resolve: {
    alias: {
      'decant/element': path('../dist/element.js'),
      'decant/threads': path('../dist/threads.js'),
      decant: path('../dist/browser.js'),
    },
  },
  worker: { format: 'es', plugins: () => [minified], rolldownOptions: QUIET },
  plugins: [withoutPreloads, serviceWorker(), version, minified],
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
    rolldownOptions: { ...QUIET, output: { codeSplitting: { groups: [AT_ONCE] } } },
  },
  server: { headers: isolation, fs: { allow: [path('..')] } },
  preview: { headers: { ...isolation, ...policy } },
});
