// The files beside a module of the package, where a development server of Vite 5 to 7 has moved the module alone.

/** Where Vite keeps its copies: beside the packages themselves, unless it is told otherwise. */
const CACHE = '/node_modules/.vite/deps/';

/** The package's file `name` if `module`, the URL of one of its modules, is such a copy. */
export const fromViteCache = (name: string, module: string | undefined): URL | undefined =>
  module?.includes(CACHE) ? new URL(`../../decant/dist/${name}`, module) : undefined;
