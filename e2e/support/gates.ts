// Gates in the workers of a page: a conversion waits at each one that the test has closed, on a fast machine and a slow one.

import { expect, type Page, test } from './browser.js';
import type { TestServer } from './server.js';

/** Before each fifth of an image's file except the first is read. `name` is the file's. */
export const fifthOf = (name: string, from: 20 | 40 | 60 | 80): string => `${name} from ${from} %`;
/** Before a file that the person has picked is completed. */
export const COMPLETION = 'completion';

/** Runs in a worker before its own script. A gate is a lock: it is closed while a page holds it. */
const GATES = `{
  const pass = (gate) => navigator.locks.request(gate, { mode: 'shared' }, () => {});
  /** Parts of files, and where they begin. */
  const parts = new WeakMap();
  const { slice, arrayBuffer, stream } = Blob.prototype;
  const arrive = async (part, more) => {
    const { file, start } = parts.get(part);
    const from = Math.floor(((start + more) / file.size) * 5) * 20;
    if (from > 0) await pass(file.name + ' from ' + from + ' %');
  };
  Blob.prototype.slice = function (start, ...others) {
    const part = slice.call(this, start, ...others);
    if (this instanceof File) parts.set(part, { file: this, start });
    return part;
  };
  Blob.prototype.arrayBuffer = async function () {
    if (parts.has(this)) await arrive(this, 0);
    return arrayBuffer.call(this);
  };
  Blob.prototype.stream = function () {
    const made = stream.call(this);
    if (!parts.has(this)) return made;
    made.getReader = (options) => {
      const reader = ReadableStream.prototype.getReader.call(made, options);
      let at = 0;
      const read = async (view) => {
        await arrive(this, at);
        const done = await ReadableStreamBYOBReader.prototype.read.call(reader, view);
        at += done.value?.length ?? 0;
        return done;
      };
      return Object.assign(reader, { read });
    };
    return made;
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
  server.alter = (path, script) => (/\/worker[\w.-]*\.js$/.test(path) ? GATES + script : script);
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

/** In milliseconds: so soon after a report of its progress, a conversion makes no other one (worker/api/progress.ts). */
const BETWEEN_REPORTS = 100;

/** Waits until a worker waits at `gate`, and until the next report. */
export async function arriveAt(page: Page, gate: string): Promise<void> {
  const isWaiting = () =>
    page.evaluate(async (gate) => (await navigator.locks.query()).pending!.some(({ name }) => name === gate), gate);
  await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true);
  await page.waitForTimeout(BETWEEN_REPORTS);
}

/**
 * Lets the conversion of the file `name` that `begin` begins come to 60 % of the file, so that some of it is shown to be done.
 * The returned function resumes it.
 */
export async function stopMidway(page: Page, name: string, begin: () => Promise<void>): Promise<() => Promise<void>> {
  const first = fifthOf(name, 20);
  const openFirst = await closeGate(page, first);
  const goOn = await closeGate(page, fifthOf(name, 60));
  await begin();
  await arriveAt(page, first);
  await openFirst();
  await expect(page.locator('.numbers strong')).not.toHaveText('0%', { timeout: 30_000 });
  return goOn;
}
