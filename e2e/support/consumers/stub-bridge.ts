// A stand-in for what the Electron example's preload script puts into its page: a test answers each call.

import { expect, type Page } from '@playwright/test';

interface Stub {
  /** The calls of the page: names and arguments, files by their names. */
  calls: unknown[][];
  answers: Record<string, (reply: unknown) => void>;
  progress?: (progress: unknown) => void;
}

declare global {
  var stub: Stub;
}

/** Puts the stand-in into `page` before its scripts run. */
export const addStub = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    const stub: Stub = { calls: [], answers: {} };
    const plain = (value: unknown): unknown => {
      if (value instanceof File) return value.name;
      return Array.isArray(value) ? value.map(plain) : value;
    };
    const call =
      (name: string) =>
      (...values: unknown[]) => {
        stub.calls.push([name, ...values.map(plain)]);
        return new Promise((resolve) => {
          stub.answers[name] = resolve;
        });
      };
    const names = ['chooseImage', 'openImage', 'chooseCompanions', 'addCompanions', 'givePassword'];
    const calls = [...names, 'chooseOutput', 'convert', 'cancel'].map((name) => [name, call(name)]);
    const onProgress = (listener: (progress: unknown) => void) => {
      stub.progress = listener;
    };
    Object.assign(globalThis, { stub, converter: { ...Object.fromEntries(calls), onProgress } });
  });

/** Waits until the page asks for `name`, and answers; returns what it was asked with. */
export async function answer(page: Page, name: string, reply: unknown): Promise<unknown[]> {
  await expect.poll(() => page.evaluate((name) => name in globalThis.stub.answers, name)).toBe(true);
  return page.evaluate(
    ([name, reply]) => {
      const { calls, answers } = globalThis.stub;
      answers[name as string]!(reply);
      delete answers[name as string];
      return calls.findLast(([called]) => called === name)!.slice(1);
    },
    [name, reply],
  );
}

/** Tells the page how far a conversion is. */
export const tell = (page: Page, progress: unknown): Promise<void> =>
  page.evaluate((progress) => globalThis.stub.progress!(progress), progress);

/** Drops files of these names on the page. */
export const drop = (page: Page, ...names: string[]): Promise<void> =>
  page.evaluate((names) => {
    const dataTransfer = new DataTransfer();
    for (const name of names) dataTransfer.items.add(new File(['content'], name));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, names);
