// Picked files, and files in picked folders.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { cancelled } from '../../errors/errors.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { refuseSources } from './entries.js';
import { asFile, asFolder, MemoryFile, MemoryFolder } from './memory-storage.test-support.js';
import { FolderTarget, PickedTarget } from './picked.js';

const SIZES = { virtualSize: 10, outputSize: 10 };
const { signal } = new AbortController();
const WRITTEN = '0123456789';

let folder: MemoryFolder;
beforeEach(() => {
  vi.useFakeTimers();
  folder = new MemoryFolder();
  // Sent to a worker: it can be cloned, unlike objects with own methods.
  Object.assign(MemoryFile.prototype, { createWritable: async () => {} });
  vi.stubGlobal('structuredClone', (value: unknown) => value);
});
afterEach(() => {
  vi.useRealTimers();
});

/** A source that matches the file of a handle, certainly or probably. */
const sourceOf = (match: 'certain' | 'probable' | undefined, size = 5) =>
  ({ size, isFile: async () => match }) as unknown as OpenedSource;

describe('an output that is a source', () => {
  for (const [match, at, sentence] of [
    ['certain', 0, "'out' is the image itself; choose another output"],
    ['probable', 0, "'out' is probably the image itself; choose another output"],
    ['certain', 1, "'out' is a file that the image needs; choose another output"],
  ] as const) {
    test(sentence, async () => {
      const sources = [sourceOf(at === 0 ? match : undefined), sourceOf(at === 1 ? match : undefined)];
      const refused = refuseSources(asFile(folder.add('out', 'image')), sources);
      await expect(refused).rejects.toMatchObject({ kind: 'usage', message: sentence });
    });
  }

  test('which the dialog emptied', async () => {
    const refused = refuseSources(asFile(folder.add('out')), [sourceOf('certain')]);
    await expect(refused).rejects.toMatchObject({
      kind: 'source',
      message: expect.stringContaining('dialog emptied it'),
    });
  });

  test('which was empty before', async () => {
    const refused = refuseSources(asFile(folder.add('out')), [sourceOf('certain', 0)]);
    await expect(refused).rejects.toMatchObject({ kind: 'usage' });
  });

  test('another file is accepted', async () => {
    await refuseSources(asFile(folder.add('out')), [sourceOf(undefined), {} as OpenedSource]);
  });
});

describe('a picked file', () => {
  test('is written by a worker', async () => {
    const file = folder.add('out', 'old');
    const target = new PickedTarget(asFile(file), []);
    expect(await target.prepare(SIZES, signal)).toEqual({ picked: file });
    file.write(WRITTEN);
    await target.commit(10, signal);
    expect(target.written?.size).toBe(10);
  });

  test('of another size fails', async () => {
    const file = folder.add('out', 'old');
    const target = new PickedTarget(asFile(file), []);
    await target.prepare(SIZES, signal);
    file.write('012345678');
    await expect(target.commit(10, signal)).rejects.toThrow('it has 9 bytes instead of 10');
  });

  test.each([
    ['with another size', 'of somebody else'],
    ['with as many bytes', 'own'],
  ])('is refused at the end if another program has changed it %s', async (_, content) => {
    const file = folder.add('out', 'old');
    const target = new PickedTarget(asFile(file), []);
    await target.prepare(SIZES, signal);
    await target.verify();
    vi.advanceTimersByTime(1);
    file.write(content);
    await expect(target.verify()).rejects.toThrow(
      "Another program has changed 'out' during the conversion; choose another output",
    );
  });

  test('is never removed', async () => {
    const target = new PickedTarget(asFile(folder.add('out')), []);
    await target.prepare(SIZES, signal);
    await target.discard(cancelled());
    expect(folder.names).toEqual(['out']);
  });
});

describe('a name in a folder', () => {
  const targetFor = (name: unknown) => new FolderTarget(asFolder(folder), name as string, []);
  const begin = async (name = 'out') => {
    const target = targetFor(name);
    const { picked } = (await target.prepare(SIZES, signal)) as unknown as { picked: MemoryFile };
    return { target, file: picked };
  };

  test.each(['', 'a/b', 7, undefined])('%j is refused', (name) => {
    expect(() => targetFor(name)).toThrow('An output in a folder needs the name of a file');
  });

  test('needs a folder', () => {
    expect(() => new FolderTarget({} as FileSystemDirectoryHandle, 'out', [])).toThrow(
      "'folder' must be a handle of a folder",
    );
  });

  for (const [thrown, sentence] of [
    [new DOMException('x', 'NoModificationAllowedError'), "The folder 'picked' is read-only; choose another one"],
    [
      new DOMException('x', 'InvalidStateError'),
      "The folder 'picked' does not allow the file name 'out'; choose another name",
    ],
    [new TypeError('x'), "The folder 'picked' does not allow the file name 'out'; choose another name"],
  ] as const) {
    test(`cannot be made: ${sentence}`, async () => {
      folder.refuse(thrown);
      await expect(targetFor('out').prepare(SIZES, signal)).rejects.toMatchObject({
        kind: 'target',
        message: sentence,
      });
    });
  }

  test('is made, and is complete', async () => {
    const { target, file } = await begin();
    await target.verify();
    file.write(WRITTEN);
    await target.commit(10, signal);
    await target.discard(cancelled());
    expect(folder.names).toEqual(['out']);
  });

  test('is removed when it is given up, if it was made here', async () => {
    const { target } = await begin();
    await target.discard(cancelled());
    expect(folder.names).toEqual([]);
  });

  test('is not removed if it was there before', async () => {
    folder.add('out', 'old');
    const { target } = await begin();
    await target.discard(cancelled());
    expect(folder.names).toEqual(['out']);
  });

  test('is refused at the end if another program has written it, and stays', async () => {
    const { target, file } = await begin();
    file.write('of somebody else');
    await expect(target.verify()).rejects.toThrow(
      "Another program has changed 'out' during the conversion; choose another output",
    );
    await target.discard(cancelled());
    expect(folder.names).toEqual(['out']);
  });

  test('is refused at the end if another program has changed the existing file', async () => {
    const before = folder.add('out', 'old');
    const { target } = await begin();
    vi.advanceTimersByTime(1);
    before.write('own');
    await expect(target.verify()).rejects.toThrow(
      "Another program has changed 'out' during the conversion; choose another output",
    );
    await target.discard(cancelled());
    expect(before.content.toString()).toBe('own');
  });

  test('is created again if it was removed', async () => {
    const { target } = await begin();
    await folder.removeEntry('out');
    await target.verify();
  });

  test('is removed again after a cancel that came while it was finished', async () => {
    const cancel = new AbortController();
    const { target, file } = await begin();
    file.write(WRITTEN);
    cancel.abort();
    await expect(target.commit(10, cancel.signal)).rejects.toMatchObject({ kind: 'cancelled' });
    await target.discard(cancelled());
    expect(folder.names).toEqual([]);
  });

  test('is complete after such a cancel if it replaces another file', async () => {
    folder.add('out', 'old');
    const cancel = new AbortController();
    const { target, file } = await begin();
    file.write(WRITTEN);
    cancel.abort();
    await target.commit(10, cancel.signal);
    expect(folder.names).toEqual(['out']);
  });

  test('stays if another program has written to it since it was finished', async () => {
    const cancel = new AbortController();
    const { target, file } = await begin();
    file.write(WRITTEN);
    cancel.abort();
    await target.commit(10, cancel.signal).catch(() => {});
    vi.advanceTimersByTime(1);
    file.write('abcdefghij');
    await target.discard(cancelled());
    expect(folder.names).toEqual(['out']);
  });

  test('that is busy is removed later', async () => {
    const { target, file } = await begin();
    file.isHeld = true;
    const discarded = target.discard(cancelled());
    await vi.advanceTimersByTimeAsync(200);
    file.isHeld = false;
    await vi.advanceTimersByTimeAsync(50);
    await discarded;
    expect(folder.names).toEqual([]);
  });

  test('that stays busy is named', async () => {
    const { target, file } = await begin();
    file.isHeld = true;
    const discarded = expect(target.discard(cancelled())).rejects.toThrow("'out' may be left in 'picked'");
    await vi.advanceTimersByTimeAsync(2000);
    await discarded;
  });

  for (const [before, named] of [
    [undefined, "'out' and 'out.crswap' may be left in 'picked', which was moved, renamed or removed"],
    ['old', "'out.crswap' may be left in 'picked', which was moved, renamed or removed"],
  ] as const) {
    test(`is named if its folder was moved: ${before}`, async () => {
      if (before) folder.add('out', before);
      const { target } = await begin();
      folder.moveAway();
      await expect(target.discard(cancelled())).rejects.toThrow(named);
    });
  }
});

/** Prepares `target`, whose conversion then runs. */
const start = async (target: PickedTarget | FolderTarget) => {
  await target.prepare(SIZES, signal);
  return target;
};

const asPicked = (name: string) => new PickedTarget(asFile(folder.children.get(name) as MemoryFile), []);
const inFolder = (name: string) => new FolderTarget(asFolder(folder), name, []);

// (first output, second output)
test.each([
  ['picked', 'picked', asPicked, asPicked],
  ['picked', 'in a folder', asPicked, inFolder],
  ['in a folder', 'picked', inFolder, asPicked],
  ['in a folder', 'in a folder', inFolder, inFolder],
])('a file, %s, is written by one conversion, and refused to another, %s', async (_first, _second, one, two) => {
  const file = folder.add('out', 'old');
  const inUse = { kind: 'usage', code: 'output-in-use', message: expect.stringContaining("is writing to 'out'") };
  const first = await start(one('out'));
  const second = two('out');
  await expect(second.prepare(SIZES, signal)).rejects.toMatchObject(inUse);
  await second.discard(cancelled());
  // Another file is free.
  folder.add('other', 'old');
  await (await start(two('other'))).discard(cancelled());
  // The first conversion has the file until its end, whichever it is.
  await expect(two('out').prepare(SIZES, signal)).rejects.toMatchObject(inUse);
  file.write(WRITTEN);
  await first.commit(10, signal);
  await (await start(two('out'))).discard(cancelled());
  await (await start(one('out'))).discard(cancelled());
  expect(file.content.toString()).toBe(WRITTEN);
});

test('of two conversions that create a file at the same time, one has it, and the other does not remove it', async () => {
  const both = [inFolder('out'), inFolder('out')];
  const prepared = await Promise.allSettled(both.map((target) => target.prepare(SIZES, signal)));
  expect(prepared.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  await both[1]!.discard(cancelled());
  expect(folder.names).toEqual(['out']);
  await both[0]!.discard(cancelled());
  expect(folder.names).toEqual([]);
});
