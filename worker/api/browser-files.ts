// Browsers: the worker scripts and the wasm, where they are, and the port of a worker.

import { checkedCodec, codecFile, ENGINES, fileNotLoaded, fromViteCache } from '../client-side/package-files.js';
import { DecantError, reasonOf } from '../errors/errors.js';
import { isOf } from '../errors/values.js';
import { PolicyReports } from '../http/policy-reports.js';
import { unexpectedEnd, type WorkerPort } from '../messages/rpc.js';
import { CODEC_URLS, type Codec } from '../public/registry.js';
import type { CodecOrigin, Configuration } from '../public/types.browser.js';
import type { Engine } from '../public/types.js';
import { isWithoutOrigin } from '../targets/browser/frame.js';
import { checkConfiguration, checkObject } from './options.js';

let configuration: Configuration = {};

/**
 * Sets the locations of workers and wasm. Omitted fields keep their values. Call it first: it affects only workers that
 * start later. Throws `usage` for a wrong field.
 */
export function configure(changes: Configuration): void {
  checkConfiguration(changes);
  if (changes.threads !== undefined) checkObject('threads', changes.threads);
  configuration = { ...configuration, ...changes };
}

/** Why the `threads` engine cannot run in this page; undefined if it can. */
export function threadsObstacle(): string | undefined {
  if (!configuration.threads) return "it needs configure({ threads }) with `threads` of 'decant/threads'";
  if (!globalThis.crossOriginIsolated) {
    return 'the page is not cross-origin isolated (its server does not send the required headers)';
  }
  return typeof SharedArrayBuffer === 'undefined' ? 'this browser has no shared memory' : undefined;
}

/** The URLs are literals, so that bundlers find them. */
function packagedWorker(engine: Engine): Worker {
  if (engine === 'threads') return configuration.threads!.worker() as Worker;
  const original = fromViteCache('worker.js', import.meta.url);
  if (original) return new Worker(original, { type: 'module' });
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** The URLs are literals, so that bundlers find them. */
function packagedWasm(engine: Engine): URL {
  if (engine === 'threads') return configuration.threads!.wasm();
  return fromViteCache('decant.wasm', import.meta.url) ?? new URL('./decant.wasm', import.meta.url);
}

const packagedCodec = (name: Codec): URL => fromViteCache(codecFile(name), import.meta.url) ?? CODEC_URLS[name]();

/** Whether the package's own worker did not start because its URL is plain text, and the page requires Trusted Types. */
const needsTrustedUrl = (thrown: unknown): boolean =>
  !configuration.worker && 'trustedTypes' in globalThis && thrown instanceof TypeError;

function makeWorker(engine: Engine): Worker {
  try {
    return (configuration.worker ?? packagedWorker)(engine);
  } catch (thrown) {
    throw notStarted(ENGINES[engine].script, thrown);
  }
}

/** The error after the browser has refused a worker of `script`. */
function notStarted(script: string, cause: unknown): DecantError {
  const details = { code: 'worker-not-started', fields: { script }, cause };
  if (isWithoutOrigin()) {
    const message = "The frame of this page is sandboxed and has no workers; add 'allow-same-origin' to its sandbox";
    return new DecantError('internal', message, details);
  }
  const failed = `Could not start a worker: ${reasonOf(cause).replace(/\.$/, '')}`;
  if (needsTrustedUrl(cause)) {
    const message = `${failed}; create its URL by a policy of the page for Trusted Types, for example 'decant', and pass the worker with configure({ worker })`;
    return new DecantError('internal', message, {
      code: 'policy',
      fields: { directive: 'trusted-types', source: 'decant' },
      cause,
    });
  }
  const advice = `create it from the page's own origin with configure({ worker }) and the package's ${script}`;
  return new DecantError('internal', `${failed}; ${advice}`, details);
}

/** Compiles the wasm of `engine`. Fails with `internal` if it cannot be loaded. */
export function compile(engine: Engine): Promise<WebAssembly.Module> {
  return load(ENGINES[engine].wasm, 'wasm', async (from) => {
    const given = await (configuration.wasm ?? packagedWasm)(engine);
    if (isOf<WebAssembly.Module>(given, 'WebAssembly.Module')) return given;
    return compileResponse(await from(given));
  });
}

/** Loads the wasm of the codec `name`. Fails with `internal` if it cannot be loaded. */
export function loadCodec(name: Codec): Promise<Uint8Array> {
  return load(codecFile(name), 'codec', async (from) => {
    const given = await (configuration.codec ?? packagedCodec)(name);
    if (isOf<Uint8Array<ArrayBuffer>>(given, 'Uint8Array')) return checkedCodec(name, given);
    return checkedCodec(name, new Uint8Array(await (await from(given)).arrayBuffer()));
  });
}

type CodecAddress = Exclude<CodecOrigin, Uint8Array>;

/**
 * Loads the package's `file` by `read`, which is passed a function that fetches it. `option` is the field of
 * `configure` for it, for the message of the error.
 */
async function load<T>(
  file: string,
  option: keyof Configuration,
  read: (from: (given: CodecAddress) => Promise<Response>) => Promise<T>,
): Promise<T> {
  let place = file;
  const reports = new PolicyReports();
  try {
    return await read(async (given) => {
      if (isOf<Response>(given, 'Response')) return successful(given);
      place = new Request(given).url;
      return successful(await fetch(given));
    });
  } catch (cause) {
    const forbidden = await reports.forWasm(place);
    if (forbidden) throw forbidden;
    throw fileNotLoaded(place, cause, `serve the package's ${file} there`, option);
  } finally {
    reports.end();
  }
}

function successful(response: Response): Response {
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response;
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  // Streaming compilation requires this media type, which not every server sends.
  const isCalledWasm = response.headers.get('Content-Type')?.startsWith('application/wasm');
  if (isCalledWasm) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

const notLoaded = (engine: Engine): DecantError => {
  const script = ENGINES[engine].script;
  const message = `Could not load the package's worker script ${script}; check the connection and reload the page, or set its location with configure({ worker })`;
  return new DecantError('internal', message, { code: 'worker-not-started', fields: { script } });
};

/** Starts a worker for `engine`. Throws `internal` if the browser does not allow it. */
export function spawn(engine: Engine): WorkerPort {
  const worker = makeWorker(engine);
  // The browser queues the report of a violation, so this is early enough.
  const reports = new PolicyReports();
  worker.addEventListener('message', () => reports.end(), { once: true });
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen: (message) => worker.addEventListener('message', ({ data }) => message(data)),
    onDeath(died) {
      worker.addEventListener('error', ({ message }) => {
        if (message) died(unexpectedEnd(message));
        // The error event of a script that cannot be loaded has no message.
        else reports.forWorker().then((forbidden) => died(forbidden ?? notLoaded(engine)), died);
      });
      worker.addEventListener('messageerror', () => died(unexpectedEnd('a message could not be read')));
    },
    terminate: async () => {
      reports.end();
      worker.terminate();
    },
    keepAlive: () => {},
  };
}
