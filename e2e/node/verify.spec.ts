// Outputs that are read back: what they are compared with, and outputs that change before they are read.

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { decant as command } from '../support/command.js';
import { images, small } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;
/** A raw disk with data in its second MiB, and in its last sector. */
const SIZE = 3 * MIB + 512;
function diskIn(folder: string): string {
  const disk = Buffer.alloc(SIZE);
  for (let at = MIB + 5000; at < 2 * MIB; at += 1) disk[at] = (at * at) >> 7;
  disk.fill(7, SIZE - 512);
  const path = join(folder, 'given.raw');
  writeFileSync(path, disk);
  return path;
}

const verifying = async (path: string, output: Decant.Output, options: Decant.ConvertOptions = {}) => {
  const image = await decant.open(path, path.endsWith('.raw') ? { inputFormat: 'raw' } : {});
  try {
    return await image.convert(output, { verify: true, ...options });
  } finally {
    await image.close();
  }
};

/** The only file of the folder besides the disk: the output that has no name yet. */
const unnamedIn = (folder: string, ...others: string[]) =>
  join(
    folder,
    readdirSync(folder).find((name) => !['given.raw', ...others].includes(name) && !name.endsWith('.journal'))!,
  );

/** A listener that calls `change` once, before the output is read back. */
function before(change: () => void): (progress: Decant.Progress) => void {
  let isDone = false;
  return ({ phase }) => {
    if (phase !== 'verifying' || isDone) return;
    isDone = true;
    change();
  };
}

/** Changes the byte at `offset`. */
function flip(path: string, offset: number): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, offset);
  writeSync(file, Buffer.of(byte[0]! ^ 1), 0, 1, offset);
  closeSync(file);
}

/** Files with which a disk may begin. */
const STARTS: Record<string, string> = {
  'a tar archive': 'tar -cf - given.raw',
  'a gzip file': 'gzip -1c given.raw',
  'a zip archive': 'zip -q - given.raw',
  'a qcow2': 'qemu-img convert -f raw -O qcow2 given.raw q && cat q && rm q',
};
for (const [what, script] of Object.entries(STARTS)) {
  const details = what === 'a qcow2' ? {} : FULL;
  test(`a disk that begins like ${what} is read back from compressed outputs`, details, async ({ folder }) => {
    diskIn(folder);
    const path = join(folder, 'start.raw');
    execFileSync('bash', ['-ec', `(${script}) > start.raw; truncate -s %512 start.raw`], { cwd: folder });
    for (const format of ['raw', 'raw.gz', 'raw.zst', 'raw.xz', 'tar.gz'])
      expect((await verifying(path, join(folder, 'out'), { format })).verified, format).toMatchObject({
        method: 'read-back',
      });
  });
}

const FORMATS = ['raw', 'qcow2', 'vmdk', 'vpc', 'vhdx', 'vdi', 'raw.gz', 'raw.zst', 'raw.xz', 'ova'];
for (const format of FORMATS) {
  test(`${format} is read back`, async ({ folder }) => {
    const phases: string[] = [];
    const onProgress = ({ phase }: Decant.Progress) => {
      if (phases.at(-1) !== phase) phases.push(phase);
    };
    for (const path of [diskIn(folder), small.zlib()]) {
      const result = await verifying(path, join(folder, 'out'), { format, onProgress });
      expect(result.verified).toMatchObject({ method: 'read-back' });
      expect(result.verified!.guestBytes).toBeGreaterThanOrEqual(result.virtualSize);
    }
    expect(phases).toEqual([...Array(2)].flatMap(() => ['preparing', 'converting', 'verifying', 'finalizing']));
    expect(readdirSync(folder).toSorted()).toEqual(['given.raw', 'out']);
  });
}

test('tar.gz, whose disk has a GiB, is read back', FULL, async ({ folder }) => {
  const { verified } = await verifying(diskIn(folder), join(folder, 'out'), { format: 'tar.gz' });
  expect(verified).toEqual({ guestBytes: 2 ** 30, method: 'read-back' });
});

test('a disk whose size is no multiple of a sector is read back', async ({ folder }) => {
  const path = join(folder, 'odd.vdi');
  execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'vdi', diskIn(folder), path]);
  const file = openSync(path, 'r+');
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(SIZE - 300));
  writeSync(file, size, 0, 8, 0x170);
  closeSync(file);
  for (const format of FORMATS)
    expect((await verifying(path, join(folder, 'out'), { format })).verified?.method, format).toBe('read-back');
});

test('small clusters, and an empty disk, are read back', async ({ folder }) => {
  const disk = Buffer.alloc(SIZE);
  for (let at = 0; at + 512 <= SIZE; at += 512 * 3) disk.fill(7, at, at + 512);
  const path = join(folder, 'given.raw');
  writeFileSync(path, disk);
  for (const size of ['512', '1k', '2k', '4k']) {
    const formatOptions = { cluster_size: size };
    const { verified } = await verifying(path, join(folder, 'out'), { format: 'qcow2', formatOptions });
    expect(verified?.method, size).toBe('read-back');
  }
  writeFileSync(path, '');
  for (const format of ['raw', 'raw.gz', 'raw.zst', 'raw.xz'])
    expect((await verifying(path, join(folder, 'out'), { format })).verified?.method, format).toBe('read-back');
});

test('an output that differs is discarded, and the first byte is named', async ({ folder }) => {
  const [given, output] = [diskIn(folder), join(folder, 'out.raw')];
  writeFileSync(output, 'before');
  for (const offset of [0, MIB + 5001, SIZE - 1]) {
    const onProgress = before(() => flip(unnamedIn(folder, 'out.raw'), offset));
    const error = await verifying(given, output, { onProgress }).catch((thrown) => thrown);
    expect(error).toMatchObject({ kind: 'target', code: 'verify-differs', fields: { offset } });
    expect(readFileSync(output, 'utf8')).toBe('before');
    expect(readdirSync(folder).toSorted()).toEqual(['given.raw', 'out.raw']);
  }
});

test('an output that cannot be read back is discarded', async ({ folder }) => {
  for (const [format, offset] of [
    ['qcow2', 0],
    ['vhdx', 0],
    ['raw.gz', 0],
    ['raw.gz', 12_000],
    ['raw.zst', 0],
    ['raw.xz', 0],
    ['ova', 1],
  ] as const) {
    const onProgress = before(() => flip(unnamedIn(folder), offset));
    const error = await verifying(diskIn(folder), join(folder, 'out'), { format, onProgress }).catch(
      (thrown) => thrown,
    );
    expect(error, format).toMatchObject({ kind: 'target', code: 'verify-unreadable' });
    expect(readdirSync(folder)).toEqual(['given.raw']);
  }
});

test('an output that is truncated before it is read back is discarded', async ({ folder }) => {
  const onProgress = before(() => truncateSync(unnamedIn(folder), MIB));
  await expect(verifying(diskIn(folder), join(folder, 'out'), { onProgress })).rejects.toMatchObject({
    kind: 'target',
  });
  expect(readdirSync(folder)).toEqual(['given.raw']);
});

test('a faulty output is not resumed, and an intact one is verified as a whole', async ({ folder }) => {
  const [given, output] = [diskIn(folder), join(folder, 'out.raw')];
  const onProgress = before(() => flip(unnamedIn(folder), MIB + 5001));
  await expect(verifying(given, output, { resume: true, onProgress })).rejects.toMatchObject({
    code: 'verify-differs',
  });
  expect(readdirSync(folder)).toEqual(['given.raw']);
  // The whole output is there when the conversion is cancelled: its source is read again for the sums.
  const cancel = new AbortController();
  const cancelling = before(() => cancel.abort());
  const cancelled = verifying(given, output, { resume: true, signal: cancel.signal, onProgress: cancelling });
  await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled', fields: { resumable: true } });
  const { verified } = await verifying(given, output, { resume: true });
  expect(verified).toEqual({ guestBytes: SIZE, method: 'read-back' });
  expect(readFileSync(output).equals(readFileSync(given))).toBe(true);
});

test('a cancel in the verification leaves nothing', async ({ folder }) => {
  const cancel = new AbortController();
  const onProgress = before(() => cancel.abort());
  const cancelled = verifying(diskIn(folder), join(folder, 'out'), { signal: cancel.signal, onProgress });
  await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled' });
  expect(readdirSync(folder)).toEqual(['given.raw']);
});

test('a file that is written in place is read back, and a fault in it is stated', async ({ folder }) => {
  const [given, output] = [diskIn(folder), join(folder, 'out.raw')];
  writeFileSync(output, Buffer.alloc(4 * MIB, 1));
  const options = { existing: true };
  expect((await verifying(given, output, options)).verified).toMatchObject({ guestBytes: SIZE });
  const onProgress = before(() => flip(output, 100));
  const error = await verifying(given, output, { ...options, onProgress }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'verify-differs', fields: { offset: 100 } });
  expect(error.message).toContain(`'${output}' now contains`);
});

test('what was written counts: a larger disk, its GPT, and a salvaged one', async ({ folder }) => {
  const result = await verifying(diskIn(folder), join(folder, 'out'), { size: 5 * MIB, format: 'qcow2' });
  expect(result.verified).toEqual({ guestBytes: 5 * MIB, method: 'read-back' });
});

test('all disks of an OVA are read back', async ({ folder }) => {
  const given = diskIn(folder);
  const [one, other] = [await decant.open(given, { inputFormat: 'raw' }), await decant.open(images.zlib())];
  const options = { format: 'ova', disks: [other] };
  const output = join(folder, 'out.ova');
  const { verified, virtualSize } = await one.convert(output, { verify: true, ...options });
  expect(verified).toEqual({ guestBytes: virtualSize, method: 'read-back' });
  await one.close();
  await other.close();
});

/** A target in memory, whose output is read back with the byte at `flipped` changed. */
function memory(flipped?: number) {
  const bytes = Buffer.alloc(SIZE);
  const calls: string[] = [];
  const target: Decant.Target = {
    async write(offset, piece) {
      bytes.set(piece, offset);
    },
    async close() {
      calls.push('close');
    },
    async abort() {
      calls.push('abort');
    },
    async readBack() {
      calls.push('readBack');
      if (flipped !== undefined) bytes[flipped]! ^= 1;
      return { size: SIZE, read: async (offset, length) => new Uint8Array(bytes.subarray(offset, offset + length)) };
    },
    async remove() {
      calls.push('remove');
    },
  };
  return { target, calls };
}

test('a custom target is read back, and removes an output that differs', async ({ folder }) => {
  const given = diskIn(folder);
  const intact = memory();
  expect((await verifying(given, intact.target)).verified).toEqual({ guestBytes: SIZE, method: 'read-back' });
  expect(intact.calls).toEqual(['close', 'readBack']);
  const faulty = memory(MIB + 6000);
  await expect(verifying(given, faulty.target)).rejects.toMatchObject({
    code: 'verify-differs',
    fields: { offset: MIB + 6000 },
  });
  expect(faulty.calls).toEqual(['close', 'readBack', 'remove']);
  const checked: Decant.Target = { ...memory().target, close: async () => ({ checked: true }) };
  expect((await verifying(given, checked)).verified).toEqual({ guestBytes: SIZE, method: 'checksums' });
});

test('what cannot be read back is refused before anything is read', async ({ folder }) => {
  const { readBack: _, ...target } = memory().target;
  for (const output of [new WritableStream(), target]) {
    await expect(verifying(diskIn(folder), output)).rejects.toMatchObject({ kind: 'usage', code: 'verify-refused' });
  }
});

test('the command verifies', async ({ folder }) => {
  const output = join(folder, 'out.qcow2');
  const { status, stderr } = command('convert', '--verify', '-f', 'raw', diskIn(folder), output);
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('was read back') });
  const toPipe = command('convert', '--verify', '-f', 'raw', diskIn(folder), '-');
  expect(toPipe).toMatchObject({ status: 2, stderr: expect.stringContaining('cannot be read back') });
  expect(existsSync(output)).toBe(true);
});
