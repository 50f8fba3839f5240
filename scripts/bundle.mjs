// Bundles the package's JavaScript: one file for each entry point and for each kind of worker.

import { join } from 'node:path';
import { root } from './lib.mjs';
import { litPolicy } from './lit-policy.mjs';

/** They share code: it exists once, so that a class is the same in all of them. */
const ENTRIES = [
  'browser',
  'node',
  'cli',
  'contents/index',
  'places/index',
  'testing/index',
  'threads',
  'upload/index',
];
/** These run unchanged with every bundler of the host: without imports, and small. */
const WORKERS = ['worker', 'worker.threads', 'worker.node'];

/** Comments that bundlers read; all others are in the declarations. */
const KEPT_COMMENTS = { annotation: true, jsdoc: false, legal: false };

/**
 * Shortens names inside functions; others stay, for stack traces. Keeps line breaks: for an uncaught error, Node prints the whole line of
 * code that throws it.
 */
const SHORT = { compress: true, mangle: { toplevel: false }, codegen: { removeWhitespace: false } };

/** Bundlers look for workers and URLs in quotes, where the minifier writes backticks. */
const quoted = {
  name: 'quotes-for-bundlers',
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      chunk.code &&= chunk.code
        .replaceAll(/new URL\(`([^`$"]+)`,import\.meta\.url\)/g, 'new URL("$1",import.meta.url)')
        .replaceAll('{type:`module`}', '{type:"module"}');
    }
  },
};

/** Leaves out the source maps of shared code: with those of workers, they would be a fifth of the package. */
const mapsOfEntries = {
  name: 'maps-of-entries',
  generateBundle(_, bundle) {
    for (const [name, chunk] of Object.entries(bundle)) {
      if (chunk.type !== 'chunk' || chunk.isEntry) continue;
      chunk.code = chunk.code.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
      delete bundle[`${name}.map`];
    }
  },
};

/** The folder of an engine's wasm and bindings, before they are packaged. */
export const bindings = (name) => join(root, 'target', 'wasm', name);

const nameOf = (entry) => entry.replace('/index', '');

/**
 * Files that several entry points load. One that has an `import()` is loaded for the API only, and no file that is loaded for less
 * imports it: bundlers keep whatever such a file may load. Code for Node alone is in none of them, however many files share it.
 */
const SHARED = [
  // A page may need no more than this class.
  { name: 'decant-error', test: /worker.errors.(decant-error|secrets|shown|values)\.ts$/ },
  {
    name: 'common',
    test: /worker.(client-side.package-files|contents.hardware|errors.\w[\w-]*|http.(address|policy-reports|request-limit)|messages.messages|public.registry)\.ts$/,
    minShareCount: 3,
  },
  {
    name: 'http',
    test: /worker.http.(http-failures|http-options|location-header|node-response|request-headers|retries)\.ts$/,
  },
  { name: 'api', test: (id) => !/worker.(http|places|cli|upload)|[\\/]node[\\/.-]/.test(id), minShareCount: 3 },
];

/** hash-wasm makes a lock for each algorithm. Bundlers drop those of algorithms that are not used. */
const unusedHashes = {
  name: 'unused-hashes',
  transform: (code, id) =>
    id.includes('hash-wasm')
      ? { code: code.replaceAll('= new Mutex()', '= /* @__PURE__ */ new Mutex()'), map: null }
      : undefined,
};

/** Makes errors of workers safe to show in the thread that receives them, and not in the workers too. */
const shownByReceiver = {
  name: 'shown-by-receiver',
  load: (id) => (/worker.errors.shown\.ts$/.test(id) ? 'export const shownMessage = (message) => message;' : undefined),
};

const MODULE = join(root, 'crate', 'module', 'src', 'module.js');

/** The bindings import another class for modules of wasm, which extends the plain one: `node` or `browser`. */
const moduleOf = (platform) => ({
  name: 'module-of-platform',
  resolveId(id) {
    if (id === 'decant-module') return MODULE;
    return /decant-module-\w+.src.module\.js$/.test(id)
      ? join(root, 'worker', 'worker-side', `${platform}-module.ts`)
      : undefined;
  },
});

/** The threads of wasm-bindgen-rayon are started by the package. */
const ownThreads = {
  name: 'own-threads',
  resolveId: (id) =>
    /wasm-bindgen-rayon-\w+.src.workerHelpers\.js$/.test(id)
      ? join(root, 'worker', 'worker-side', 'thread-pool.ts')
      : undefined,
};

function options(entries, dir) {
  return {
    input: Object.fromEntries(entries.map((entry) => [nameOf(entry), join(root, 'worker', `${entry}.ts`)])),
    cwd: root,
    tsconfig: false,
    resolve: {
      alias: {
        'decant-module': MODULE,
        ...Object.fromEntries(
          ['workers', 'threads'].map((name) => [`decant-wasm/${name}`, join(bindings(name), 'index.js')]),
        ),
      },
    },
    external: /^(node:|undici$)/,
    plugins: [quoted, unusedHashes, mapsOfEntries],
    output: {
      ...{ dir, format: 'es', sourcemap: true, entryFileNames: '[name].js', chunkFileNames: '[name].shared.js' },
      comments: KEPT_COMMENTS,
      minify: SHORT,
    },
  };
}

const DOM_SHIM = '@lit-labs/ssr-dom-shim';

/** Lets Lit be imported without a document. Lit would create a global there; the package must not. */
const withoutDocument = {
  name: 'lit-without-document',
  resolveId: (id) => (id === DOM_SHIM ? id : undefined),
  load: (id) =>
    id === DOM_SHIM ? 'export const HTMLElement = class {}; export const customElements = undefined;' : undefined,
  transform(code, id) {
    if (!id.endsWith('reactive-element.js')) return undefined;
    const global = 'l.customElements??=t;';
    if (!code.includes(global)) this.error('Lit has changed: it makes its global in another way.');
    return { code: code.replace(global, ''), map: null };
  },
};

/** Markup and styles are indented in their sources only, and styles have comments. */
const dense = {
  name: 'dense-markup-and-styles',
  async transform(code, id) {
    if (!/element.\w+.*\.ts$/.test(id)) return undefined;
    const { transform } = await import('lightningcss');
    const styled = code.replaceAll(
      /(?<=css`)[^`]*(?=`)/g,
      (sheet) => `${transform({ filename: id, code: Buffer.from(sheet), minify: true }).code}`,
    );
    return { code: styled.replaceAll(/^[ \t]+/gm, ''), map: null };
  },
};

/** What the texts of all languages use, which load one by one. */
const TEXTS = { name: 'texts', test: /element.(formats|texts.wording)\.ts$/, minShareCount: 2 };

/** The element imports the package as pages do, and includes Lit. */
const element = (dir) => ({
  input: { element: join(root, 'element', 'index.ts'), texts: join(root, 'element', 'texts', 'languages.ts') },
  cwd: root,
  tsconfig: false,
  platform: 'neutral',
  external: ['decant', 'decant/contents', 'decant/places'],
  // These builds of Lit can be imported without a document.
  resolve: { conditionNames: ['node', 'import', 'default'] },
  plugins: [withoutDocument, litPolicy, dense, mapsOfEntries],
  output: {
    ...{ dir, format: 'es', sourcemap: true, entryFileNames: '[name].js', chunkFileNames: 'element.[name].js' },
    codeSplitting: { groups: [TEXTS] },
    paths: { decant: './browser.js', 'decant/contents': './contents.js', 'decant/places': './places.js' },
    minify: true,
  },
});

export async function bundle(dir) {
  // Imported here because this file is loaded before the packages are installed.
  const { build } = await import('rolldown');
  const { output, ...shared } = options(ENTRIES, dir);
  await build({ ...shared, output: { ...output, codeSplitting: { groups: SHARED } } });
  await build(element(dir));
  for (const worker of WORKERS) {
    const { output, ...rest } = options([worker], dir);
    const isOfNode = worker === 'worker.node';
    // The script for Node must be a module wherever a bundler puts it.
    const entryFileNames = isOfNode ? '[name].mjs' : '[name].js';
    const plugins = [...rest.plugins, shownByReceiver, ownThreads, moduleOf(isOfNode ? 'node' : 'browser')];
    const minify = isOfNode ? SHORT : true;
    await build({ ...rest, plugins, output: { ...output, entryFileNames, minify, sourcemap: false } });
  }
}
