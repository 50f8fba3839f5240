// The consumers that build pages: their files and differences.

import type { Scope } from '../support/scope.js';

export interface Consumer {
  name: string;
  /** Its name in docs/bundlers.md. */
  label: string;
  /** The project, where several consumers share one. */
  project?: string;
  /** Further folders of `projects` for it, between `common` and its own folder. */
  layers?: string[];
  /** The scripts that build it and start its development server; `undefined` without one. */
  build?: string | undefined;
  dev?: string | undefined;
  /** The folder of the built page. */
  output?: string;
  /** The path of the page on the development server. */
  path?: string;
  env?: Record<string, string>;
  /** Additional sources of the policy for its pages, by directive. */
  policy?: Record<string, string>;
  /** The number of the package's scripts and wasm that it serves without a hash in their names. */
  unhashed?: number;
  /** The smallest scope of its tests; `short` tests only its built page. */
  scope: Scope;
}

/** The hash of the import map in `no-bundler/index.html`: an import map is inline in the page. */
const IMPORT_MAP = "'sha256-o7XtmTvr6yg4v/D6VA9Av+HNc0s25SOrsh7ZldrhsUc='";

/** The server-rendered data is in inline scripts of the page. */
export const NEXT_POLICY = { 'script-src': "'unsafe-inline'", 'style-src': "'self' 'unsafe-inline'" };

const next = (version: string, bundler: string, label: string) => ({
  name: `${version}-${bundler}`,
  label,
  project: version,
  layers: ['next'],
  build: `build:${bundler}`,
  dev: `dev:${bundler}`,
  output: `out-${bundler}`,
  path: '/some/app',
  env: { NEXT_FOLDER: `out-${bundler}` },
  policy: NEXT_POLICY,
});

/** Their differences from `USUAL`. */
const STATED: (Partial<Consumer> & { name: string; label: string })[] = [
  {
    name: 'no-bundler',
    label: 'no bundler, an import map',
    build: undefined,
    dev: undefined,
    output: '.',
    policy: { 'script-src': IMPORT_MAP },
    unhashed: 2,
    scope: 'full',
  },
  { name: 'vite8', label: 'Vite 8', scope: 'short' },
  { name: 'webpack5', label: 'webpack 5', path: '/' },
  { name: 'vite7-react', label: 'Vite 7, React' },
  { name: 'vite6-svelte', label: 'Vite 6, Svelte' },
  { name: 'vite5-vue', label: 'Vite 5, Vue' },
  { name: 'rspack', label: 'Rspack', path: '/' },
  { name: 'rollup', label: 'Rollup, with import-meta-assets', dev: undefined },
  // It writes an import map of its files into the page.
  { name: 'parcel', label: 'Parcel', policy: { 'script-src': "'unsafe-inline'" } },
  // The worker is a separate entry point.
  { name: 'esbuild', label: 'esbuild, with `configure`', unhashed: 1 },
  // Its styles are inline in the page.
  {
    name: 'angular',
    label: 'Angular, with `configure`',
    output: 'dist/consumer/browser',
    path: '/',
    policy: { 'style-src': "'self' 'unsafe-inline'" },
    unhashed: 2,
  },
  next('next15', 'webpack', 'Next 15, webpack'),
  // It starts workers by scripts from blobs.
  { ...next('next15', 'turbopack', 'Next 15, Turbopack'), policy: { ...NEXT_POLICY, 'worker-src': 'blob:' } },
  next('next16', 'webpack', 'Next 16, webpack'),
  next('next16', 'turbopack', 'Next 16, Turbopack'),
];

const USUAL = { build: 'build', dev: 'dev', output: 'dist', path: '/some/app/', scope: 'long' } as const;

export const CONSUMERS: Consumer[] = STATED.map((stated) => ({ ...USUAL, ...stated }));
