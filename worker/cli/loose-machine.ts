// The files of a machine beside each other: those of an OVA, which are separated while the OVA is written.

import { type FileHandle, link, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { localPath } from '../api/node-path.js';
import { DecantError } from '../errors/errors.js';
import { fileError, fileExists } from '../errors/file-error.js';
import { shownText } from '../errors/shown.js';
import type { Target } from '../node.js';
import { refused } from '../targets/node/owner-and-mode.js';
import { partialName } from '../targets/node/partial.js';

/** The unit of a tar archive, and the length of its headers. */
const BLOCK = 512;

/** The file of a disk. */
interface DiskFile {
  path: string;
  /** Its path until it is complete. If its process is killed, a later conversion to the folder removes it. */
  partial: string;
  handle: FileHandle;
  /** Its offset in the archive, and the offset after its last byte so far. */
  start: number;
  end: number;
}

/** A file in the archive. */
interface Member {
  name: string;
  /** The offset of its content. */
  start: number;
  size: number;
}

/**
 * Takes an OVA, and writes its files into the folder of the descriptor. No file that was there is replaced. The descriptor is
 * written last: without it, the disks do not form a machine.
 */
export class LooseMachine implements Target {
  /** The disks come one after the other. */
  readonly concurrency = 1;
  readonly #folder: string;
  readonly #name: string;
  readonly #disks: DiskFile[] = [];
  /** Bytes that are written after the disks: the descriptor, and the headers of the disks. By offset. */
  readonly #late = new Map<number, Uint8Array>();
  readonly #made: string[] = [];

  constructor(descriptor: string) {
    const path = localPath(descriptor);
    this.#folder = dirname(path);
    this.#name = basename(path).slice(0, -'.ovf'.length);
  }

  /** Fails with `target` if one of the files exists already, as far as their names are known before. */
  async open(): Promise<void> {
    for (const name of [`${this.#name}.ovf`, `${this.#name}.mf`, this.#diskName(1)])
      await requireFree(join(this.#folder, name));
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const last = this.#disks.at(-1);
    if (last && offset < last.end) {
      this.#late.set(offset, bytes);
      return;
    }
    // A disk begins after the place of its header.
    const disk = last && offset === last.end ? last : await this.#begin(offset);
    const position = offset - disk.start;
    await this.#inParts(disk, 'written', bytes.length, async (at) => {
      const { bytesWritten } = await disk.handle.write(bytes, at, bytes.length - at, position + at);
      return bytesWritten;
    });
    disk.end += bytes.length;
  }

  async close(): Promise<void> {
    const first = this.#disks[0]!;
    const start = this.#lateFrom(0);
    const descriptor = memberIn(start, 0);
    const manifest = await this.#separate(descriptor, start);
    for (const disk of this.#disks) await this.#complete(disk);
    await this.#make(manifest.name, manifest.content);
    await this.#make(descriptor.name, start.subarray(descriptor.start, descriptor.start + descriptor.size));
    if (start.length !== first.start) throw new DecantError('internal', 'The start of the OVA is incomplete');
  }

  async abort(): Promise<void> {
    // The files are removed, so data that was not written does not matter.
    for (const { handle } of this.#disks) await handle.close().catch(() => {});
    const left: string[] = [];
    for (const path of this.#made) {
      await unlink(path).catch(({ code }: NodeJS.ErrnoException) => {
        if (code !== 'ENOENT') left.push(path);
      });
    }
    if (left.length === 0) return;
    const names = left.map((path) => `'${shownText(path)}'`).join(', ');
    throw new DecantError('target', `${names} could not be removed`);
  }

  /** Gives each disk its length, by its header. Returns the manifest, which follows the last disk. */
  async #separate(descriptor: Member, start: Uint8Array): Promise<{ name: string; content: Uint8Array }> {
    const last = this.#disks.at(-1)!;
    for (const [at, disk] of this.#disks.entries()) {
      const header = at === 0 ? start.subarray(-BLOCK) : this.#lateFrom(disk.start - BLOCK);
      const { name, size } = memberIn(header, 0);
      const isWhole = disk === last ? disk.start + size < disk.end : disk.start + size === disk.end;
      if (name !== this.#diskName(at + 1) || !isWhole) throw new DecantError('internal', 'The OVA has other disks');
      if (disk !== last) continue;
      const rest = Buffer.alloc(disk.end - disk.start - size);
      await this.#inParts(disk, 'read', rest.length, async (at) => {
        const { bytesRead } = await disk.handle.read(rest, at, rest.length - at, size + at);
        return bytesRead;
      });
      await this.#failing(disk.path, disk.handle.truncate(size));
      const manifest = memberIn(rest, 0);
      if (manifest.name !== `${this.#name}.mf` || descriptor.name !== `${this.#name}.ovf`) break;
      return { name: manifest.name, content: rest.subarray(manifest.start, manifest.start + manifest.size) };
    }
    throw new DecantError('internal', 'The OVA has other files');
  }

  /** The bytes from `offset` that came late. */
  #lateFrom(offset: number): Uint8Array {
    const parts: Uint8Array[] = [];
    for (let at = offset; this.#late.has(at); at += parts.at(-1)!.length) parts.push(this.#late.get(at)!);
    return Buffer.concat(parts);
  }

  #diskName(number: number): string {
    return `${this.#name}-disk${number}.vmdk`;
  }

  async #begin(start: number): Promise<DiskFile> {
    const name = this.#diskName(this.#disks.length + 1);
    const path = join(this.#folder, name);
    await requireFree(path);
    const location = { folder: Buffer.from(this.#folder), name: Buffer.from(name) };
    const partial = join(this.#folder, partialName(location).toString());
    const disk = { path, partial, handle: await this.#create(partial, path), start, end: start };
    this.#disks.push(disk);
    return disk;
  }

  /** Gives the file of a disk its name, unless there is a file of that name by now. */
  async #complete({ path, partial, handle }: DiskFile): Promise<void> {
    await this.#failing(path, handle.close());
    // Unlike a rename, a link fails if there is a file.
    const linking = link(partial, path).then(
      () => true,
      (thrown: NodeJS.ErrnoException) => {
        if (thrown.code === 'EEXIST') throw fileExists(path);
        return refused(thrown);
      },
    );
    const isLinked = await this.#failing(path, linking);
    // The file system has no hard links.
    if (!isLinked) await requireFree(path);
    this.#made.push(path);
    await this.#failing(path, isLinked ? unlink(partial) : rename(partial, path));
  }

  async #make(name: string, content: Uint8Array): Promise<void> {
    const path = join(this.#folder, name);
    const handle = await this.#create(path);
    try {
      await this.#failing(path, handle.writeFile(content));
    } finally {
      await handle.close();
    }
  }

  /** Makes the file at `path`, which errors call `shown`. */
  async #create(path: string, shown = path): Promise<FileHandle> {
    const handle = await open(path, 'wx+').catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'EEXIST' ? fileExists(shown) : fileError(thrown, 'target', `make '${shown}'`);
    });
    this.#made.push(path);
    return handle;
  }

  /** Calls `work` with the number of bytes that are done, until all `length` are. It returns how many it has done. */
  async #inParts(
    { path }: DiskFile,
    done: string,
    length: number,
    work: (at: number) => Promise<number>,
  ): Promise<void> {
    for (let at = 0; at < length; ) {
      const count = await this.#failing(path, work(at));
      if (count === 0) throw fileError(new Error(`0 bytes were ${done}`), 'target', `write to '${path}'`);
      at += count;
    }
  }

  async #failing<T>(path: string, work: Promise<T>): Promise<T> {
    return work.catch((thrown) => {
      throw fileError(thrown, 'target', `write to '${path}'`);
    });
  }
}

/** Fails with `target` if there is a file at `path`. A folder that cannot be searched fails when the file is made. */
async function requireFree(path: string): Promise<void> {
  if (await stat(path).catch(() => undefined)) throw fileExists(path);
}

/** The file whose header is at `at` in `archive`. */
function memberIn(archive: Uint8Array, at: number): Member {
  const header = Buffer.from(archive.buffer, archive.byteOffset + at, BLOCK);
  const text = (start: number, end: number) => header.toString('latin1', start, end).replace(/\0.*$/, '');
  // A size of 8 GiB or more is in base 256.
  const size = header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : Number.parseInt(text(124, 136), 8);
  return { name: text(0, 100), start: at + BLOCK, size };
}
