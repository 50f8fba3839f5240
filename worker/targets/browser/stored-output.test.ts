// Temporary files in the origin's private file system: sweeping and resuming.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { cancelled } from '../../errors/errors.js';
import { FOLDER, journalName } from '../../messages/messages.js';
import { type MemoryFolder, stubStorage } from './memory-storage.test-support.js';
import { OpfsTarget } from './opfs.js';
import { firstLine, heldNames, storageFolder, storageRoot, sweepStorage, TemporaryFile } from './storage.js';
import { listLeftovers, StoredOutput } from './stored-output.js';

describe('outputs', () => {
  const DAY = 24 * 3600 * 1000;
  const SIZES = { virtualSize: 10, outputSize: 10 };
  const { signal } = new AbortController();
  const HEAD = '["download","it"]';

  let root: MemoryFolder;
  let files: MemoryFolder;
  beforeEach(async () => {
    ({ root } = stubStorage());
    files = (await storageFolder()) as unknown as MemoryFolder;
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Leaves a file of a closed tab, whose journal has the resume point `guest` and was changed `age` milliseconds ago. */
  function leave(name: string, guest: number, { head = HEAD, age = 0, size = guest } = {}): void {
    files.add(name, 'x'.repeat(size));
    files.add(journalName(name), `${head}\n${guest} 0\n`).lastModified -= age;
  }

  describe('sweepStorage', () => {
    test('removes files without a journal, and journals without a file', async () => {
      files.add('a', 'data');
      files.add(journalName('b'), `${HEAD}\n5 0\n`);
      leave('c', 5);
      await sweepStorage();
      expect(files.names).toEqual(['c', 'c.journal']);
    });

    test.each([
      ['a journal without a line', `${HEAD}\n`],
      ['an empty journal', ''],
    ])('removes a file with %s', async (_, text) => {
      files.add('a', 'data');
      files.add('a.journal', text);
      await sweepStorage();
      expect(files.names).toEqual([]);
    });

    test.each([
      [6.9 * DAY, false],
      [7.1 * DAY, true],
    ])('looks at the age of a journal: %i ms', async (age, isSwept) => {
      leave('a', 5, { age });
      await sweepStorage();
      expect(files.names).toEqual(isSwept ? [] : ['a', 'a.journal']);
    });

    test('removes declined files', async () => {
      leave('a', 5);
      leave('b', 5, { head: 'other' });
      await sweepStorage((head) => head === HEAD);
      expect(files.names).toEqual(['b', 'b.journal']);
    });

    test('leaves files of open tabs, and files that cannot be removed', async () => {
      const file = await TemporaryFile.create();
      files.add('busy', 'data').isHeld = true;
      await sweepStorage(() => true);
      expect(files.names).toEqual([file.name, 'busy'].toSorted());
    });

    test('removes a file that a worker of the reloaded page still holds for a moment', async () => {
      vi.useFakeTimers();
      const held = files.add('a', 'data');
      files.add('a.journal', `${HEAD}\n`);
      held.isHeld = true;
      const swept = sweepStorage();
      await vi.advanceTimersByTimeAsync(500);
      expect(files.names).toEqual(['a']);
      held.isHeld = false;
      await vi.advanceTimersByTimeAsync(100);
      await swept;
      expect(files.names).toEqual([]);
    });
  });

  describe('a temporary file', () => {
    test('is held until it is let go', async () => {
      const file = await TemporaryFile.create();
      expect(await heldNames()).toEqual(new Set([file.name]));
      file.leave();
      await new Promise(setImmediate);
      expect(await heldNames()).toEqual(new Set());
    });

    test('is used by one tab at a time', async () => {
      leave('a', 5);
      const patience = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
      const file = await TemporaryFile.take('a');
      expect(file?.name).toBe('a');
      expect(patience).toHaveBeenCalledWith(500);
      expect(await TemporaryFile.take('a')).toBeUndefined();
      expect(await TemporaryFile.take('missing')).toBeUndefined();
    });

    test('is removed with its journal, and then not held', async () => {
      leave('a', 5);
      await (await TemporaryFile.take('a'))?.remove();
      expect(files.names).toEqual([]);
      await new Promise(setImmediate);
      expect(await heldNames()).toEqual(new Set());
    });

    test('that a worker has open is removed once it is free, and held until then', async () => {
      const file = await TemporaryFile.create();
      const held = await files.getFileHandle(file.name);
      vi.useFakeTimers();
      held.isHeld = true;
      const removed = file.remove();
      await vi.advanceTimersByTimeAsync(5000);
      await removed;
      expect(await heldNames()).toEqual(new Set([file.name]));
      held.isHeld = false;
      await vi.advanceTimersByTimeAsync(1000);
      expect(files.names).toEqual([]);
      expect(await heldNames()).toEqual(new Set());
    });
  });

  describe('an output with resume', () => {
    const begin = async (identity = 'it', place = 'download') => {
      const output = new StoredOutput(place);
      const spec = await output.prepare(SIZES, signal, identity, false);
      return { output, spec: spec as { opfs: string; resume?: object } };
    };

    test('starts from the beginning without saved progress', async () => {
      const { output, spec } = await begin();
      expect(output.resumePoint).toBeUndefined();
      expect(spec.resume).toEqual({
        head: firstLine(HEAD, undefined, 10),
        resumePoint: { guest: 0, written: 0 },
        mostUnsaved: 64e6,
      });
    });

    test('has the name of the image in its journal, and resumes whatever the name is', async () => {
      const output = new StoredOutput('download', 'disk.qcow2');
      const spec = (await output.prepare(SIZES, signal, 'it', false)) as { opfs: string; resume: { head: string } };
      expect(spec.resume.head).toBe('["download","it","disk.qcow2",10]');
      output.file.leave();
      await new Promise(setImmediate);
      files.add(spec.opfs, 'x'.repeat(5));
      files.add(journalName(spec.opfs), `${spec.resume.head}\n5 0\n`);
      expect((await new StoredOutput('download', 'renamed.qcow2').savedProgress('it')).guestDone).toBe(5);
      expect((await begin()).output.resumePoint).toEqual({ guest: 5, written: 0 });
    });

    test('resumes the file with the most progress', async () => {
      for (const guest of [3, 9, 6]) leave(`left${guest}`, guest);
      const { output, spec } = await begin();
      expect(output.resumePoint).toEqual({ guest: 9, written: 0 });
      expect(spec.opfs).toBe('left9');
    });

    test.each<[string, () => unknown]>([
      ['of another image', () => leave('a', 5, { head: '["download","other"]' })],
      ['for another place', () => leave('a', 5, { head: '["opfs:x","it"]' })],
      ['that is shorter than its journal says', () => leave('a', 5, { size: 4 })],
      ['without a journal', () => files.add('a', 'data')],
    ])('does not continue a file %s', async (_, make) => {
      make();
      expect((await begin()).output.resumePoint).toBeUndefined();
    });

    test('does not resume a file of another tab', async () => {
      leave('a', 5);
      await TemporaryFile.take('a');
      expect((await begin()).output.resumePoint).toBeUndefined();
    });

    test('keeps a file with saved progress', async () => {
      const { output, spec } = await begin();
      files.add(journalName(spec.opfs), `${HEAD}\n5 0\n`);
      await expect(output.discard(cancelled(), true)).rejects.toThrow('progress was saved');
      expect(files.names).toEqual([spec.opfs, journalName(spec.opfs)]);
      await new Promise(setImmediate);
      expect((await new StoredOutput('download').savedProgress('it')).guestDone).toBe(5);
    });

    test.each([
      ['its journal notes nothing', true, `${HEAD}\n`],
      ['it is not asked to', false, `${HEAD}\n5 0\n`],
    ])('keeps nothing if %s', async (_, keep, text) => {
      const { output, spec } = await begin();
      files.add(journalName(spec.opfs), text);
      await output.discard(cancelled(), keep);
      expect(files.names).toEqual([]);
    });

    test('removes files that others left for it when it is complete', async () => {
      leave('a', 5);
      leave('b', 6);
      leave('other', 5, { head: 'other' });
      const { output } = await begin();
      await output.removeOthers();
      expect(files.names).toEqual(['b', 'b.journal', 'other', 'other.journal']);
    });

    test('reports saved progress, and discards it', async () => {
      leave('a', 5);
      leave('other', 5, { head: 'other' });
      const kept = await new StoredOutput('download').savedProgress('it');
      expect(kept.guestDone).toBe(5);
      await kept.discard();
      expect(files.names).toEqual(['other', 'other.journal']);
      expect((await new StoredOutput('download').savedProgress('it')).guestDone).toBe(0);
    });

    test.each([
      ['discarded', async (output: StoredOutput) => output.discard(cancelled(), false)],
      [
        'that was kept',
        async (output: StoredOutput) => {
          output.file.leave();
          await new Promise(setImmediate);
          await (await output.savedProgress('it')).discard();
        },
      ],
    ])('says that a file is still there: %s', async (_, give) => {
      const { output, spec } = await begin();
      files.add(journalName(spec.opfs), `${HEAD}\n5 0\n`);
      (await files.getFileHandle(spec.opfs)).write('x'.repeat(9)).isHeld = true;
      vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] });
      const given = expect(give(output)).rejects.toMatchObject({ code: 'storage-busy', fields: { stored: 9 } });
      await vi.advanceTimersByTimeAsync(2000);
      await given;
      (await files.getFileHandle(spec.opfs)).isHeld = false;
      await vi.advanceTimersByTimeAsync(1000);
      expect(files.names).toEqual([]);
    });

    test('of another size than was written fails', async () => {
      const { output, spec } = await begin();
      (await files.getFileHandle(spec.opfs)).write('x'.repeat(9));
      await expect(output.whole(10)).rejects.toThrow('it has 9 bytes instead of 10');
    });
  });

  describe('a file in the private file system', () => {
    let begun: OpfsTarget[] = [];
    afterEach(async () => {
      for (const target of begun) await target.discard(cancelled(), false);
      begun = [];
    });

    const begin = async (path: string, Target = OpfsTarget) => {
      const target = new Target(path, []);
      begun.push(target);
      const spec = (await target.prepare(SIZES, signal)) as { opfs: string };
      (await files.getFileHandle(spec.opfs)).write('0123456789');
      return target;
    };
    const content = async (name: string) => (await (await root.getFileHandle(name)).getFile()).text();

    test.each(['', '/', 'a/', '/a', 'a//b', '.', '..', 'a/../b', FOLDER, `${FOLDER}/a`])('%j is refused', (path) => {
      expect(() => new OpfsTarget(path, [])).toThrow(`'${path}' is not a valid file name in the browser's storage`);
    });

    test('appears under its name, in created folders', async () => {
      await (await begin('folder/disk.raw')).commit(10);
      const folder = await root.getDirectoryHandle('folder');
      expect(folder.names).toEqual(['disk.raw']);
      expect(files.names).toEqual([]);
    });

    test('replaces the file of the start', async () => {
      root.add('disk.raw', 'old');
      await (await begin('disk.raw')).commit(10);
      expect(await content('disk.raw')).toBe('0123456789');
    });

    test('does not replace a file that was created since', async () => {
      const target = await begin('disk.raw');
      root.add('disk.raw', 'of somebody else');
      await expect(target.commit(10)).rejects.toThrow("'disk.raw' was changed during the conversion");
      expect(await content('disk.raw')).toBe('of somebody else');
    });

    test('does not replace a file that was written since', async () => {
      const before = root.add('disk.raw', 'old');
      const target = await begin('disk.raw');
      before.lastModified += 1;
      await expect(target.commit(10)).rejects.toThrow("'disk.raw' was changed during the conversion");
      expect(await content('disk.raw')).toBe('old');
    });

    test('replaces a file that was removed since', async () => {
      root.add('disk.raw', 'old');
      const target = await begin('disk.raw');
      await root.removeEntry('disk.raw');
      await target.commit(10);
      expect(await content('disk.raw')).toBe('0123456789');
    });

    test('is written by one conversion of a page at a time', async () => {
      const inUse = {
        kind: 'usage',
        code: 'output-in-use',
        message: expect.stringContaining("writing to 'a/disk.raw'"),
      };
      const first = await begin('a/disk.raw');
      const second = new OpfsTarget('a/disk.raw', []);
      await expect(second.prepare(SIZES, signal)).rejects.toMatchObject(inUse);
      await second.discard(cancelled(), false);
      await (await begin('disk.raw')).discard(cancelled(), false);
      await expect(begin('a/disk.raw')).rejects.toMatchObject(inUse);
      await first.commit(10);
      await (await begin('a/disk.raw')).discard(cancelled(), false);
      await (await begin('a/disk.raw')).commit(10);
    });

    test('of the conversions of two tabs to a new name one is done', async () => {
      vi.resetModules();
      const { OpfsTarget: OfAnotherTab } = await import('./opfs.js');
      const targets = [await begin('disk.raw'), await begin('disk.raw', OfAnotherTab)];
      const ends = await Promise.allSettled(targets.map((target) => target.commit(10)));
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });

    test('is refused if a folder has its name', async () => {
      await root.getDirectoryHandle('disk.raw', { create: true });
      await expect(begin('disk.raw')).rejects.toMatchObject({ name: 'TypeMismatchError' });
    });
  });

  describe('a page without private storage', () => {
    test.each<[string, () => unknown]>([
      ['is available only over https or on localhost', () => vi.stubGlobal('isSecureContext', false)],
      ['this browser does not have', () => vi.stubGlobal('navigator', {})],
      [
        'is not available to this page, perhaps because the window is private',
        () => {
          const getDirectory = () => Promise.reject(new DOMException('no', 'SecurityError'));
          vi.stubGlobal('navigator', { storage: { getDirectory }, locks: {} });
        },
      ],
    ])('says that private storage %s', async (reason, stub) => {
      stub();
      const message = `This kind of output needs the browser's private storage, which ${reason}`;
      await expect(storageRoot()).rejects.toMatchObject({ kind: 'usage', message });
    });
  });
});

describe('leftovers', () => {
  const HEAD = '["download","it"]';

  let root: MemoryFolder;
  let files: MemoryFolder;
  beforeEach(async () => {
    ({ root } = stubStorage());
    files = (await storageFolder()) as unknown as MemoryFolder;
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** Leaves a file of 9 bytes whose journal has these lines. */
  function leave(name: string, ...lines: string[]): number {
    files.add(name, 'x'.repeat(9));
    const journal = [...lines, ''].join('\n');
    files.add(journalName(name), journal);
    return 9 + journal.length;
  }

  // (case, lines of the journal, what is listed)
  test.each([
    [
      'a download',
      [firstLine(HEAD, 'a b"\n.qcow2', 9), '5 0'],
      { kind: 'download', image: 'a b"\n.qcow2', guestDone: 5, guestTotal: 9 },
    ],
    [
      'an image without a name',
      [firstLine(HEAD, undefined, 9), '5 0'],
      { kind: 'download', guestDone: 5, guestTotal: 9 },
    ],
    [
      'a disk of unknown size',
      [firstLine(HEAD, 'a', undefined), '5 0'],
      { kind: 'download', image: 'a', guestDone: 5 },
    ],
    [
      'a file of the page',
      [firstLine('["opfs:disk.raw","it"]', 'a', undefined), '5 0', '7 0'],
      { kind: 'opfs', guestDone: 7 },
    ],
    ['a file called download', [firstLine('["opfs:download","it"]', 'a', undefined), '5 0'], { kind: 'opfs' }],
    ['a journal of another version', ['no JSON', '5 0'], { kind: 'opfs', guestDone: 5 }],
    ['no progress', [firstLine(HEAD, 'a', 9)], undefined],
  ] as const)('lists: %s', async (_, lines, expected) => {
    const size = leave('one', ...lines);
    const found = await listLeftovers();
    expect(found).toMatchObject(expected ? [{ ...expected, size }] : []);
    if (expected && !('image' in expected) && expected.kind === 'download')
      expect(found[0]).not.toHaveProperty('image');
  });

  test('lists no file without a journal, and no journal without a file', async () => {
    files.add('swept', 'data');
    files.add(journalName('gone'), `${HEAD}\n5 0\n`);
    expect(await listLeftovers()).toEqual([]);
  });

  test('discards exactly the chosen file', async () => {
    leave('one', HEAD, '5 0');
    leave('two', HEAD, '6 0');
    const [one] = (await listLeftovers()).filter(({ guestDone }) => guestDone === 5);
    await one!.discard();
    expect(files.names).toEqual(['two', 'two.journal']);
    // It is gone already.
    await one!.discard();
    expect(files.names).toEqual(['two', 'two.journal']);
  });

  test('leaves a file alone that a conversion uses by now', async () => {
    leave('one', HEAD, '5 0');
    const [one] = await listLeftovers();
    const taken = await TemporaryFile.take('one');
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
    await expect(one!.discard()).rejects.toMatchObject({ code: 'storage-in-use' });
    expect(await listLeftovers()).toEqual([]);
    expect(files.names).toEqual(['one', 'one.journal']);
    taken?.leave();
  });

  test('creates nothing, and lists nothing without storage', async () => {
    await root.removeEntry(FOLDER);
    expect(await listLeftovers()).toEqual([]);
    expect(root.names).toEqual([]);
    vi.stubGlobal('isSecureContext', false);
    expect(await listLeftovers()).toEqual([]);
  });
});
