// A plugin for Vite: builds the service worker and the list of files that it keeps.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

const LIST = 'build.json';
const SCRIPT = 'service-worker.js';

/** Lists the files in `folder`: their paths, and digests of their content in the form that `fetch` takes. */
function digests(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((file) => relative(folder, join(file.parentPath, file.name)).split(sep).join('/')).sort();
  return Object.fromEntries(
    paths.map((path) => [
      // Servers redirect `index.html` to the folder, and a redirected page cannot be kept.
      path === 'index.html' ? './' : path,
      `sha256-${createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('base64')}`,
    ]),
  );
}

/**
 * Adds the list and the service worker to the folder of a build, which must contain only the files of the page.
 */
async function complete(folder: string): Promise<void> {
  const files = digests(folder);
  const id = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
  writeFileSync(join(folder, LIST), JSON.stringify({ id, files }));
  // One classic script, because some browsers do not accept a module as a service worker.
  await build({
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      target: 'esnext',
      outDir: folder,
      emptyOutDir: false,
      rolldownOptions: {
        input: fileURLToPath(new URL('service-worker.ts', import.meta.url)),
        output: { format: 'iife', entryFileNames: SCRIPT },
      },
    },
  });
}

export function serviceWorker(): Plugin {
  let folder = '';
  return {
    name: 'decant-service-worker',
    apply: 'build',
    configResolved: (config) => {
      folder = resolve(config.root, config.build.outDir);
    },
    closeBundle: () => complete(folder),
  };
}
