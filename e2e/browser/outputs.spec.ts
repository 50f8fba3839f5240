// Outputs at the end: right and complete after a success, untouched after a failure.

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { ENGINES, expect, giveFile, hashOpfs, loadApi, type Page, storage, test } from '../support/browser.js';
import { decant } from '../support/command.js';
import { hashFile, images, PASSWORD, qemuImg, small, sparse } from '../support/images.js';
import { byScope } from '../support/scope.js';

type Engine = 'threads' | 'workers';
type Ended = { kind: string; message: string };

/** Gives the files of the private file system content, by name. */
async function fill(page: Page, files: Record<string, string>): Promise<void> {
  await page.evaluate(async (files) => {
    const root = await navigator.storage.getDirectory();
    for (const [name, text] of Object.entries(files)) {
      const writable = await (await root.getFileHandle(name, { create: true })).createWritable();
      await writable.write(text);
      await writable.close();
    }
  }, files);
}

const read = (page: Page, name: string): Promise<string> =>
  page.evaluate(async (name) => {
    const root = await navigator.storage.getDirectory();
    return (await (await root.getFileHandle(name)).getFile()).text();
  }, name);

/** Converts `window.file` to `out.raw` in the private file system, as a handle or by its folder. */
async function convert(page: Page, target: 'handle' | 'folder', cancel = false): Promise<Ended> {
  return page.evaluate(
    async ({ target, cancel }) => {
      const root = await navigator.storage.getDirectory();
      const held = window.hold(window.file);
      const image = await window.decant.open(cancel ? held : window.file);
      held.holdFrom(window.file.size / 2);
      const output = target === 'folder' ? { folder: root, name: 'out.raw' } : await root.getFileHandle('out.raw');
      const abort = new AbortController();
      const onProgress = ({ phase }: { phase: string }) => {
        if (cancel && phase === 'converting') setTimeout(() => abort.abort());
      };
      try {
        await image.convert(output, { signal: abort.signal, onProgress });
        return { kind: 'done', message: '' };
      } catch (error) {
        const { kind, message } = error as Ended;
        return { kind, message };
      } finally {
        await image.close();
      }
    },
    { target, cancel },
  );
}

test('a file that was there stays as it is unless the disk is complete', async ({ apiPage: page }) => {
  // (target, content before, image, cancelled, outcome, content afterwards; undefined: no file)
  type Row = ['handle' | 'folder', string | undefined, () => string, boolean, string, string | undefined];
  const rows: Row[] = [
    ['handle', 'precious', images.truncated, false, 'corrupt', 'precious'],
    ['handle', 'precious', images.zlib, true, 'cancelled', 'precious'],
    // An empty file may be older than the conversion.
    ['handle', '', images.truncated, false, 'corrupt', ''],
    ['handle', '', images.zlib, true, 'cancelled', ''],
    ['folder', 'precious', images.truncated, false, 'corrupt', 'precious'],
    ['folder', 'precious', images.zlib, true, 'cancelled', 'precious'],
    ['folder', '', images.truncated, false, 'corrupt', ''],
    ['folder', undefined, images.truncated, false, 'corrupt', undefined],
    ['folder', undefined, images.zlib, true, 'cancelled', undefined],
  ];
  for (const [target, before, image, cancel, kind, after] of rows) {
    const row = `${target}, ${before}, ${kind}`;
    if (before !== undefined) await fill(page, { 'out.raw': before });
    await giveFile(page, image());
    expect((await convert(page, target, cancel)).kind, row).toBe(kind);
    const { names } = await storage(page);
    expect(names, row).toEqual(after === undefined ? [] : ['out.raw']);
    if (after === undefined) continue;
    expect(await read(page, 'out.raw'), row).toBe(after);
    await page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('out.raw'));
  }
});

for (const [isolated, engine] of [
  [false, 'workers'],
  [true, 'threads'],
] as const) {
  test.describe(isolated ? 'isolated' : 'not isolated', () => {
    test.use({ isolated });

    test(
      `the disks of two images become one OVA, as in Node: ${engine}`,
      { tag: '@full' },
      async ({ apiPage: page }, testInfo) => {
        const path = (name: string) => testInfo.outputPath(name);
        for (const name of ['a.qcow2', 'b.qcow2']) copyFileSync(small.zlib(), path(name));
        execFileSync('tar', ['-C', path('.'), '-cf', path('both.tar'), 'a.qcow2', 'b.qcow2']);
        const uuid = '01234567-89ab-cdef-0123-456789abcdef';
        const args = ['--disk', 'all', '-o', `uuid=${uuid},name=vm`];
        expect(decant('convert', ...args, path('both.tar'), path('out.ova'))).toMatchObject({ status: 0 });
        await giveFile(page, small.zlib());
        const results = await page.evaluate(
          async ({ engine, uuid }) => {
            const [first, second] = [
              await window.decant.open(window.file, { engine }),
              await window.decant.open(window.file, { engine }),
            ];
            const options = { format: 'ova', formatOptions: { uuid, name: 'vm' }, disks: [second] };
            const handle = await (await navigator.storage.getDirectory()).getFileHandle('b.ova', { create: true });
            const results = [await first.convert({ opfs: 'a.ova' }, options), await first.convert(handle, options)];
            await first.close();
            await second.close();
            return results;
          },
          { engine, uuid },
        );
        expect(results.map((result) => result.engine)).toEqual(['workers', 'workers']);
        for (const name of ['a.ova', 'b.ova']) expect(await hashOpfs(page, name), name).toBe(hashFile(path('out.ova')));
      },
    );
  });
}

test('a file in a folder is made, or replaced, by a disk that is complete', async ({ apiPage: page }) => {
  await giveFile(page, images.kinds());
  const expected = execFileSync('sha256sum', [rawOf(images.kinds())], { encoding: 'utf8' }).split(' ')[0];
  for (const before of [undefined, 'old']) {
    if (before) await fill(page, { 'out.raw': before });
    expect(await convert(page, 'folder')).toEqual({ kind: 'done', message: '' });
    expect(await hashOpfs(page, 'out.raw')).toBe(expected);
  }
});

/** `image` as qemu-img reads it. */
function rawOf(image: string): string {
  const path = `${image}.raw`;
  if (!existsSync(path)) qemuImg('convert', '-O', 'raw', image, path);
  return path;
}

for (const [password, expected] of [
  ['wrong', 'password'],
  [PASSWORD, 'target'],
] as const) {
  test(`a file written by another program is neither removed nor replaced: ${expected}`, async ({ apiPage: page }) => {
    await giveFile(page, images.luks());
    const kind = await page.evaluate(async (password) => {
      const root = await navigator.storage.getDirectory();
      const held = window.hold(window.file);
      const image = await window.decant.open(held, { password });
      held.holdFrom(window.file.size / 2);
      const change = async () => {
        const writable = await (await root.getFileHandle('out.raw')).createWritable();
        await writable.write('of somebody else');
        await writable.close();
        held.holdFrom(window.file.size);
      };
      let changed: Promise<void> | undefined;
      const onProgress = ({ phase }: { phase: string }) => {
        if (phase === 'unlocking') changed ??= change();
      };
      const convert = image.convert({ folder: root, name: 'out.raw' }, { onProgress });
      const kind = await convert.then(
        () => 'done',
        ({ kind }) => kind,
      );
      await changed;
      await image.close();
      return kind;
    }, password);
    expect(kind).toBe(expected);
    expect(await read(page, 'out.raw')).toBe('of somebody else');
  });
}

test('a file of another program stays if it replaces the disk of a conversion that is cancelled at its end', async ({
  apiPage: page,
}) => {
  await giveFile(page, images.kinds());
  const seen = await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const output = { folder: root, name: 'out.raw' };
    const image = await window.decant.open(window.file);
    const abort = new AbortController();
    const { getFile } = FileSystemFileHandle.prototype;
    // The conversion is cancelled when it looks at the complete file, which is replaced before the conversion knows.
    let isReplaced = false;
    FileSystemFileHandle.prototype.getFile = async function () {
      const file = await getFile.call(this);
      if (file.size === 0 || isReplaced) return file;
      isReplaced = true;
      abort.abort();
      const writable = await this.createWritable();
      await writable.write('of another program');
      await writable.close();
      return file;
    };
    const ended = await image.convert(output, { signal: abort.signal }).catch(({ kind }) => kind);
    await image.close();
    return { ended, content: await (await (await root.getFileHandle('out.raw')).getFile()).text() };
  });
  expect(seen).toEqual({ ended: 'cancelled', content: 'of another program' });
});

test('a second conversion to one file fails at its start, and the first is complete', async ({ apiPage: page }) => {
  const { image, raw } = sparse(64 << 20);
  await giveFile(page, image);
  // (output of the first conversion, output of the second)
  const all = [['handle', 'folder'] as const, ['folder', 'handle'] as const, ['opfs', 'opfs'] as const];
  for (const [one, two] of all.slice(0, byScope({ short: 1, full: 3 }))) {
    const seen = await page.evaluate(
      async ([one, two]) => {
        const folder = await navigator.storage.getDirectory();
        const outputs = {
          handle: async () => folder.getFileHandle('out.raw', { create: true }),
          folder: async () => ({ folder, name: 'out.raw' }),
          opfs: async () => ({ opfs: 'out.raw' }),
        };
        const held = window.hold(window.file);
        const image = await window.decant.open(held);
        const convert = async (output: typeof one, begun?: () => void) =>
          image
            .convert(await outputs[output](), { onProgress: ({ phase }) => phase === 'converting' && begun?.() })
            .then(
              () => 'done',
              ({ kind, code }) => `${kind} ${code}`,
            );
        held.holdFrom(window.file.size / 2);
        let first: Promise<string> | undefined;
        await new Promise<void>((begun) => {
          first = convert(one, begun);
        });
        const second = await convert(two);
        held.holdFrom(window.file.size);
        const ended = await first;
        const again = await convert(two);
        await image.close();
        return { ended, second, again };
      },
      [one, two] as const,
    );
    expect(seen, one).toEqual({ ended: 'done', second: 'usage output-in-use', again: 'done' });
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(raw));
    await page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('out.raw'));
  }
});

test('the image itself, or a companion, is refused as the output', async ({ apiPage: page }) => {
  // By its handle, and as a File of which only name, size and time are known.
  for (const given of ['handle', 'file'] as const) {
    for (const target of ['handle', 'folder', 'opfs'] as const) {
      for (const role of ['image', 'companion'] as const) {
        await fill(page, { 'mine.raw': 'precious', 'other.raw': 'other' });
        const ended = await page.evaluate(
          async ({ given, target, role }) => {
            const root = await navigator.storage.getDirectory();
            const mine = await root.getFileHandle('mine.raw');
            const other = await root.getFileHandle('other.raw');
            const source = given === 'handle' ? mine : await mine.getFile();
            const image =
              role === 'image'
                ? await window.decant.open(source, { inputFormat: 'raw' })
                : await window.decant.open(other, { inputFormat: 'raw', companions: [source] });
            const outputs = { handle: mine, folder: { folder: root, name: 'mine.raw' }, opfs: { opfs: 'mine.raw' } };
            const ended = await image.convert(outputs[target]).then(
              () => ({ kind: 'done', message: '' }),
              ({ kind, message }) => ({ kind, message }),
            );
            await image.close();
            return ended;
          },
          { given, target, role },
        );
        const verb = given === 'handle' ? 'is' : 'is probably';
        const what = role === 'image' ? 'the image itself' : 'a file that the image needs';
        expect(ended).toEqual({ kind: 'usage', message: `'mine.raw' ${verb} ${what}; choose another output` });
        expect(await read(page, 'mine.raw')).toBe('precious');
      }
    }
  }
});

test('an image emptied by the dialog is reported as such, and stays', async ({ apiPage: page }) => {
  for (const given of ['handle', 'file'] as const) {
    await fill(page, { 'mine.raw': 'x'.repeat(1 << 20) });
    const ended = await page.evaluate(async (given) => {
      const root = await navigator.storage.getDirectory();
      const mine = await root.getFileHandle('mine.raw');
      const image = await window.decant.open(given === 'handle' ? mine : await mine.getFile(), { inputFormat: 'raw' });
      // As by the save dialog when an existing file is chosen.
      const writable = await mine.createWritable();
      await writable.close();
      const ended = await image.convert(mine).catch(({ kind, message }) => ({ kind, message }));
      await image.close();
      return ended;
    }, given);
    expect(ended, given).toEqual({ kind: 'source', message: expect.stringContaining('dialog emptied it') });
    expect((await storage(page)).names).toEqual(['mine.raw']);
  }
});

for (const { engine, tag = [] } of [{ engine: 'workers', tag: '@full' }, { engine: 'threads' }] as const) {
  test(`a stream gets the whole disk, in order, ${engine}`, { tag }, async ({ apiPage: page }) => {
    await giveFile(page, images.zlib());
    const seen = await page.evaluate(async (engine) => {
      const root = await navigator.storage.getDirectory();
      const file = await (await root.getFileHandle('out.raw', { create: true })).createWritable();
      const image = await window.decant.open(window.file, { engine });
      let [total, largest, closed] = [0, 0, 0];
      const stream = new WritableStream<Uint8Array>({
        async write(piece) {
          total += piece.length;
          largest = Math.max(largest, piece.length);
          await file.write(piece as Uint8Array<ArrayBuffer>);
        },
        async close() {
          closed += 1;
          await file.close();
        },
      });
      const { virtualSize } = await image.convert(stream);
      await image.close();
      return { total, largest, closed, virtualSize };
    }, engine);
    expect(seen).toEqual({ total: seen.virtualSize, largest: 1 << 20, closed: 1, virtualSize: seen.virtualSize });
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
  });
}

test('a stream that fails or hangs, and one whose disk cannot be read', { tag: '@full' }, async ({ apiPage: page }) => {
  const attempt = (fault: 'fails' | 'hangs' | 'close' | 'close hangs' | 'none', format = 'qcow2') =>
    page.evaluate(
      async ({ fault, format }) => {
        const cause = new Error('the far side is gone');
        const seen: string[] = [];
        const image = await window.decant.open(window.file, { inputFormat: format });
        const abort = new AbortController();
        const hang = () => {
          setTimeout(() => abort.abort());
          return new Promise<void>(() => {});
        };
        const stream = new WritableStream<Uint8Array>({
          write() {
            if (fault === 'fails') throw cause;
            return fault === 'hangs' ? hang() : undefined;
          },
          close() {
            seen.push('close');
            if (fault === 'close') throw cause;
            return fault === 'close hangs' ? hang() : undefined;
          },
          abort: (reason) => void seen.push(`abort ${reason.kind}`),
        });
        try {
          await image.convert(stream, { signal: abort.signal });
          return { kind: 'done', message: '', seen };
        } catch (error) {
          const { kind, message, cause: found } = error as Ended & { cause?: unknown };
          return { kind, message, seen, isCause: found === cause };
        } finally {
          await image.close();
        }
      },
      { fault, format },
    );
  // A small disk hangs when all is written, a large one before.
  await giveFile(page, images.filled(1));
  expect(await attempt('hangs', 'raw')).toMatchObject({ kind: 'cancelled' });
  await giveFile(page, images.zlib());
  const gone = { kind: 'target', message: 'Could not write the output: the far side is gone', isCause: true };
  // One that has failed is not aborted once more.
  expect(await attempt('fails')).toMatchObject({ ...gone, seen: [] });
  expect(await attempt('close')).toMatchObject({ ...gone, seen: ['close'] });
  for (const fault of ['hangs', 'close hangs'] as const) {
    expect(await attempt(fault)).toMatchObject({ kind: 'cancelled' });
  }
  await giveFile(page, images.truncated());
  expect(await attempt('none')).toMatchObject({ kind: 'corrupt', seen: ['abort corrupt'] });
});

test(
  'a stream that is locked, and one that fails by the signal of the conversion',
  { tag: '@full' },
  async ({ apiPage: page }) => {
    await giveFile(page, images.zlib());
    const told = await page.evaluate(async () => {
      const image = await window.decant.open(window.file);
      const told = ({ kind, message }: Ended) => `${kind}: ${message}`;
      const locked = new WritableStream<Uint8Array>();
      locked.getWriter();
      const abort = new AbortController();
      const signalled = new WritableStream<Uint8Array>({
        write() {
          abort.abort();
          throw new Error('of the signal');
        },
      });
      const own = new WritableStream<Uint8Array>({
        write() {
          throw Object.assign(Object.create(null), { kind: 'timeout' });
        },
      });
      const all = [
        await image.convert(locked).then(String, told),
        await image.convert(signalled, { signal: abort.signal }).then(String, told),
        await image.convert(own).then(String, told),
      ];
      await image.close();
      return all;
    });
    expect(told).toEqual([
      'usage: The stream is locked by another writer',
      'cancelled: The conversion was cancelled',
      'target: Could not write the output: no reason was given',
    ]);
  },
);

for (const [engine, details] of ENGINES) {
  test(
    `what a private window cannot store is refused, and nothing is left, ${engine}`,
    details,
    async ({ apiPage: page }, testInfo) => {
      // Beyond a share of the memory, the private file system of such a window silently ignores truncations and writes.
      const path = testInfo.outputPath('private.qcow2');
      qemuImg('create', '-q', '-f', 'qcow2', path, '200G');
      execFileSync('qemu-io', ['-c', 'write -q -P 1 199G 1M', path]);
      await giveFile(page, path);
      for (const [size, expected] of [
        [100_000_000, true],
        [200 * 2 ** 30, false],
      ]) {
        const kinds = await page.evaluate((size) => window.decant.targets({ size }), size as number);
        const stored = kinds.filter(({ name }) => name === 'opfs' || name === 'download');
        expect(stored.map(({ fits }) => fits)).toEqual([expected, expected]);
      }
      await fill(page, { 'old.raw': 'precious' });
      for (const name of ['out.raw', 'old.raw', 'handle']) {
        const ended = await page.evaluate(
          async ({ engine, name }) => {
            const root = await navigator.storage.getDirectory();
            const image = await window.decant.open(window.file, { engine });
            const output = name === 'handle' ? await root.getFileHandle('old.raw') : { opfs: name };
            const ended = await image.convert(output).then(
              () => ({ kind: 'done', message: '' }),
              ({ kind, message }) => ({ kind, message }),
            );
            await image.close();
            return ended;
          },
          { engine, name },
        );
        expect(ended, name).toEqual({ kind: 'target', message: expect.stringContaining('Could not write the output') });
        expect((await storage(page)).names).toEqual(['old.raw']);
        expect(await read(page, 'old.raw'), name).toBe('precious');
      }
    },
  );
}

test(
  'a private window that fills up refuses, and what it has said is done is right',
  { tag: '@full' },
  async ({ apiPage: page }) => {
    await giveFile(page, images.large());
    const seen = await page.evaluate(async () => {
      const root = await navigator.storage.getDirectory();
      const image = await window.decant.open(window.file);
      const seen: string[] = [];
      for (const name of ['1.raw', '2.raw', '3.raw', '4.raw']) {
        try {
          await image.convert({ opfs: name });
          const file = await (await root.getFileHandle(name)).getFile();
          const places = [300, 304, 899, 900, 904].map((mib) => file.slice(mib * 2 ** 20, mib * 2 ** 20 + 1));
          const bytes = await Promise.all(places.map(async (place) => new Uint8Array(await place.arrayBuffer())[0]));
          seen.push(`done ${file.size} ${bytes}`);
        } catch (error) {
          seen.push((error as Ended).kind);
        }
      }
      await image.close();
      return seen;
    });
    expect(new Set(seen)).toEqual(new Set([`done ${2 ** 30} 1,1,0,2,2`, 'target']));
    const { names } = await storage(page);
    expect(names).toHaveLength(seen.filter((one) => one !== 'target').length);
  },
);

test('wasm of another content type is compiled all the same', { tag: '@full' }, async ({ page, servers }) => {
  servers.isolated.wasmType = 'application/octet-stream';
  try {
    await page.goto('/blank');
    await loadApi(page);
    await giveFile(page, images.kinds());
    for (const engine of byScope<Engine[]>({ short: ['workers'], full: ['workers', 'threads'] })) {
      const size = await page.evaluate(async (engine) => {
        const image = await window.decant.open(window.file, { engine });
        const { virtualSize } = await image.convert({ opfs: 'out.raw' });
        await image.close();
        return virtualSize;
      }, engine);
      expect(size).toBe(10 << 20);
    }
  } finally {
    servers.isolated.wasmType = undefined;
  }
});
