// Finds the package's files if a development server of Vite 5 to 7 serves a copy of the module without them.

/** Vite's default folder for copies. */
const CACHE = '/node_modules/.vite/deps/';

/** The URL of the package's file `name` if `module`, the URL of one of its modules, is such a copy. */
export const fromViteCache = (name: string, module: string | undefined): URL | undefined =>
  module?.includes(CACHE) ? new URL(`../../decant/dist/${name}`, module) : undefined;
