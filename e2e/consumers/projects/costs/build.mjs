// Bundles and minifies one import at a time with each bundler, and writes what a page loads for it, compressed: costs/costs.json.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build as esbuild, transform } from 'esbuild';
import { rollup } from 'rollup';
import { build as vite } from 'vite';
import webpack from 'webpack';

const IMPORTS = { DecantError: 'decant', nextStep: 'decant/places', putTarget: 'decant/upload' };

const root = import.meta.dirname;
const folder = join(root, 'costs');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);

const compressed = (code) => brotliCompressSync(code).length;

/** The size of the entry among `chunks`, as Rollup states them, with all that it imports. */
async function initial(chunks) {
  const entry = chunks.find(({ isEntry }) => isEntry);
  const loaded = new Set();
  const load = (name) => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const each of chunks.find(({ fileName }) => fileName === name).imports) load(each);
  };
  load(entry.fileName);
  const codes = chunks.filter(({ fileName }) => loaded.has(fileName)).map(({ code }) => code);
  const minified = await Promise.all(codes.map((code) => transform(code, { minify: true, format: 'esm' })));
  return minified.reduce((sum, { code }) => sum + compressed(code), 0);
}

const BUNDLERS = {
  async esbuild(entry) {
    const options = { bundle: true, minify: true, format: 'esm', platform: 'browser', write: false };
    const { outputFiles } = await esbuild({ entryPoints: [entry], ...options });
    return compressed(outputFiles[0].contents);
  },
  async rollup(entry) {
    const bundle = await rollup({ input: entry, plugins: [nodeResolve({ browser: true })] });
    return initial((await bundle.generate({ format: 'es' })).output);
  },
  async vite(entry) {
    const rollupOptions = { input: entry, preserveEntrySignatures: 'strict' };
    const build = { write: false, modulePreload: false, rollupOptions };
    const { output } = await vite({ root, configFile: false, logLevel: 'error', build });
    return initial(output.filter(({ type }) => type === 'chunk'));
  },
  async webpack(entry, name) {
    const output = { path: join(folder, 'webpack'), filename: `${name}.js` };
    await new Promise((resolve, reject) => {
      webpack({ mode: 'production', entry, output }, (error, stats) =>
        error || stats.hasErrors() ? reject(error ?? new Error(stats.toString())) : resolve(),
      );
    });
    return compressed(readFileSync(join(output.path, output.filename)));
  },
};

const costs = {};
for (const [name, from] of Object.entries(IMPORTS)) {
  const entry = join(folder, `${name}.js`);
  writeFileSync(entry, `import { ${name} } from '${from}';\nglobalThis.given = ${name};\n`);
  costs[name] = {};
  for (const [bundler, cost] of Object.entries(BUNDLERS)) costs[name][bundler] = await cost(entry, name);
}
writeFileSync(join(folder, 'costs.json'), JSON.stringify(costs, null, 2));
