// A session in a page that saves disks itself, and the images for it. The test file must mock `open` and `targets`.

import type { DiskImage } from 'decant';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { layerOf } from '../../worker/api/info.test-support.js';
import {
  Held,
  imageOf,
  images,
  inputNamed,
  PAGE,
  type RESULT,
  screenIn,
  soon,
  stepOf,
} from '../element.test-support.js';
import type { InputFile } from '../files/input-file.js';
import type { State, Step } from '../steps/state.js';
import { Session } from './session.js';

export let session: Session;
export let emitted: [string, unknown][];
/** The steps that were shown, with the names of their images, since a test has emptied it. */
export const shown: string[] = [];

beforeEach(() => {
  for (const [name, value] of Object.entries(PAGE)) vi.stubGlobal(name, value);
  const page = screenIn({ output: () => new WritableStream() });
  emitted = page.emitted;
  session = new Session(page.screen.host, () => session && note(session.state));
  images.clear();
});
afterEach(() => {
  session.end();
  vi.unstubAllGlobals();
});

function note(state: State): void {
  const now = [state.step, ...('name' in state ? [state.name] : [])].join(' ');
  if (shown.at(-1) !== now) shown.push(now);
}

export const step = <S extends State['step']>(name: S): Promise<Step<S>> => stepOf(session, name);
export const news = (text: string) => soon(() => expect(session.news).toBe(text));
export const rows = () => session.queue.items.map(({ bundle, status }) => `${bundle.top.file.name} ${status}`);
export const input = (...names: string[]): InputFile[] => names.map((name) => inputNamed(name));
export const imageCalled = (name: string, more: Partial<DiskImage> = {}) => imageOf({ name }, more);

/** An image that needs the file `wanted` until it is given. */
export function needing(name: string, wanted: string): void {
  images.set(name, ({ companions = [] }) => {
    const names = companions.map((one) => (one as File).name);
    const isThere =
      names.includes(wanted) ||
      companions.some((one) => typeof one === 'object' && 'source' in one && one.name === wanted);
    return imageOf({
      name,
      layers: isThere ? [layerOf(name), layerOf(wanted)] : [layerOf(name)],
      references: [{ role: 'backing file', name: wanted, fileName: wanted }],
      needs: isThere ? [] : [{ kind: 'missing-file', role: 'backing file', name: wanted, fileName: wanted, of: name }],
      unusedCompanions: names.filter((one) => one !== wanted),
    });
  });
}

/** An image whose conversion waits for the test. */
export function waiting(name: string): Held<typeof RESULT> {
  const held = new Held<typeof RESULT>();
  images.set(name, imageCalled(name, { convert: () => held.promise }));
  return held;
}
