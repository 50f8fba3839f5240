// Gates in the workers of a page: a conversion waits at each one that the test has closed, on a fast machine and a slow one.

import { type Page, test } from './browser.js';
import type { TestServer } from './server.js';

/** Before a quarter of an image's file is read that is not the first one. `name` is the file's. */
export const quarterOf = (name: string, from: 25 | 50 | 75): string => `${name} from ${from} %`;
/** Before a file that the person has picked is completed. */
export const COMPLETION = 'completion';

/** Runs in a worker before its own script. A gate is a lock: it is closed while a page holds it. */
const GATES = `{
  const pass = (gate) => navigator.locks.request(gate, { mode: 'shared' }, () => {});
  const gates = new WeakMap();
  const { slice, arrayBuffer } = Blob.prototype;
  Blob.prototype.slice = function (start, ...others) {
    const part = slice.call(this, start, ...others);
    const from = Math.floor((start / this.size) * 4) * 25;
    if (this instanceof File && from > 0) gates.set(part, this.name + ' from ' + from + ' %');
    return part;
  };
  Blob.prototype.arrayBuffer = async function () {
    if (gates.has(this)) await pass(gates.get(this));
    return arrayBuffer.call(this);
  };
  const { close } = FileSystemWritableFileStream.prototype;
  FileSystemWritableFileStream.prototype.close = async function () {
    await pass('${COMPLETION}');
    return close.call(this);
  };
}
`;

/**
 * Serves workers with gates until the returned function is called. A page needs `serviceWorkers: 'block'`: a service worker
 * would give it the workers as they were built.
 */
export function serveGates(server: TestServer): () => void {
  server.alter = (path, script) => (/\/worker\.[\w.-]+\.js$/.test(path) ? GATES + script : script);
  return () => {
    server.alter = undefined;
  };
}

/** Gives the page of each test in this group workers with gates. It was opened before. */
export function useGates(): void {
  let serveOthers = () => {};
  test.use({ serviceWorkers: 'block' });
  test.beforeEach(async ({ page, servers }) => {
    serveOthers = serveGates(servers.isolated);
    await page.reload();
  });
  test.afterEach(() => serveOthers());
}

/** Closes `gate`; the returned function opens it. */
export async function closeGate(page: Page, gate: string): Promise<() => Promise<void>> {
  const opened = await page.evaluateHandle(
    (gate) =>
      new Promise<{ open(): void }>((closed) => {
        navigator.locks
          .request(gate, () => new Promise<void>((resolve) => closed({ open: () => resolve() })))
          .catch(reportError);
      }),
    gate,
  );
  return () => opened.evaluate(({ open }) => open());
}
