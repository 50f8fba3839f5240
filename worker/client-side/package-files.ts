// The package's files: their names, where a development server keeps them, and why one is not loaded, such as by the page's Content
// Security Policy.

import { DecantError, reasonOf } from '../errors/errors.js';
import type { Codec, Engine } from '../public/types.js';

/** The engines: their files, and whether one worker has all that decodes, with one memory, and is used for one conversion only. */
export const ENGINES: Record<Engine, { script: string; wasm: string; isOneWorker: boolean }> = {
  workers: { script: 'worker.js', wasm: 'decant.wasm', isOneWorker: false },
  threads: { script: 'worker.threads.js', wasm: 'threads.wasm', isOneWorker: true },
};

/** The wasm file of the codec `name`. */
export const codecFile = (name: Codec): string => `${name}.wasm`;

/** Resolves to `bytes`. Rejects if they are not the wasm of the codec `name`, with which a worker would trap. */
export async function checkedCodec(name: Codec, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const module = await WebAssembly.compile(bytes);
  const found = WebAssembly.Module.exports(module).map((exported) => exported.name);
  // Among others, it exports a function that has its name.
  if (!found.includes(name) || WebAssembly.Module.imports(module).length > 0) {
    throw new Error(`it is not the ${codecFile(name)} of this version of the package`);
  }
  return bytes;
}

/** Caches the results of `make` by key. A failure is not cached. */
/* @__NO_SIDE_EFFECTS__ */
export function once<K, V>(make: (key: K) => Promise<V>): (key: K) => Promise<V> {
  const made = new Map<K, Promise<V>>();
  return (key) => {
    const known = made.get(key);
    if (known) return known;
    const promise = make(key);
    made.set(key, promise);
    promise.catch(() => made.delete(key));
    return promise;
  };
}

/** The error for a wasm file that was not loaded from `place`. `option` of `configure` sets where it is loaded from. */
export function fileNotLoaded(place: string, cause: unknown, advice: string, option: string): DecantError {
  const message = `Could not load ${place}: ${reasonOf(cause)}; ${advice}, or set its location with configure({ ${option} })`;
  return new DecantError('internal', message, { code: 'wasm-not-loaded', fields: { place }, cause });
}

/** Vite's default folder for copies. */
const CACHE = '/node_modules/.vite/deps/';

/** The URL of the package's file `name` if `module`, the URL of one of its modules, is such a copy. */
export const fromViteCache = (name: string, module: string | undefined): URL | undefined =>
  module?.includes(CACHE) ? new URL(`../../decant/dist/${name}`, module) : undefined;

type Violation = Pick<SecurityPolicyViolationEvent, 'effectiveDirective' | 'blockedURI'>;

/** How long to wait for the report after a failure, in milliseconds: browsers queue it. */
const REPORT_WAIT_MS = 250;
/** The `blockedURI` for the compilation of wasm. */
const WASM_BLOCKED = 'wasm-eval';

const REPORT = 'securitypolicyviolation';

/** Collects reports until `end`. */
export class PolicyReports {
  readonly #reports: Violation[] = [];
  #wake = () => {};
  readonly #hear = (event: Event) => {
    this.#reports.push(event as SecurityPolicyViolationEvent);
    this.#wake();
  };

  constructor() {
    globalThis.addEventListener(REPORT, this.#hear);
  }

  end(): void {
    globalThis.removeEventListener(REPORT, this.#hear);
  }

  /** Resolves to the error for a worker that did not start, if the policy is the reason. */
  forWorker(): Promise<DecantError | undefined> {
    return this.#find(({ effectiveDirective }) => effectiveDirective === 'worker-src');
  }

  /** Resolves to the error for wasm that was not fetched from `url` or compiled, if the policy is the reason. */
  forWasm(url: string): Promise<DecantError | undefined> {
    return this.#find(
      ({ effectiveDirective, blockedURI }) =>
        blockedURI === WASM_BLOCKED || (effectiveDirective === 'connect-src' && blockedURI === url),
    );
  }

  async #find(matches: (report: Violation) => boolean): Promise<DecantError | undefined> {
    const until = performance.now() + REPORT_WAIT_MS;
    for (let left = REPORT_WAIT_MS; left > 0; left = until - performance.now()) {
      const found = this.#reports.find(matches);
      if (found) return forbidden(found);
      await this.#next(left);
    }
    return undefined;
  }

  /** Waits for the next report, at most `milliseconds`. */
  #next(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function forbidden({ effectiveDirective: directive, blockedURI }: Violation): DecantError {
  const [what, source] =
    blockedURI === WASM_BLOCKED ? ['WebAssembly', "'wasm-unsafe-eval'"] : [blockedURI, sourceOf(blockedURI)];
  const message = `The page's Content Security Policy forbids ${what}: add ${source} to its ${directive}`;
  return new DecantError('internal', message, { code: 'policy', fields: { directive, source } });
}

/** The source expression that allows `blocked`, which is a URL or only a scheme. */
function sourceOf(blocked: string): string {
  if (!/^https?:/.test(blocked)) return `${blocked.replace(/:.*/s, '')}:`;
  const { origin } = new URL(blocked);
  return origin === globalThis.location.origin ? "'self'" : origin;
}
