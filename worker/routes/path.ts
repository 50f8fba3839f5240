// A path in Node: a temporary file beside the target, renamed over it at the end. A block device is
// written in place.

import { randomUUID } from 'node:crypto';
import { close, constants, fchmod, fstat, open, type Stats } from 'node:fs';
import { access, readFile, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DecantError } from '../errors.js';
import type { SourceSpec } from '../platform/platform.js';
import { fileError } from './file-error.js';
import type { Route, TargetSpec } from './route.js';

const { O_CREAT, O_EXCL, O_RDWR, O_WRONLY } = constants;
/** The unit of /sys/dev/block/MAJOR:MINOR/size, whatever the device's own. */
const SECTOR = 512;
/** As Linux has it. */
const MAX_LINKS = 40;

export class PathRoute implements Route {
  #fd: number | undefined;
  /** What is written until the rename; undefined for a device. */
  #temporary: string | undefined;
  #target = '';

  constructor(
    private readonly path: string,
    private readonly sources: SourceSpec[],
    private readonly sync: boolean,
  ) {}

  async prepare(virtualSize: number): Promise<TargetSpec> {
    try {
      this.#target = await followLinks(this.path);
      const existing = await stat(this.#target).catch(unlessMissing);
      if (existing) await this.#refuse(existing);
      else if (this.path.endsWith('/'))
        throw new DecantError('usage', `There is no folder '${this.path}'; name a file`);
      return existing?.isBlockDevice() ? await this.#openDevice(existing, virtualSize) : await this.#openFile(existing);
    } catch (thrown) {
      throw fileError(thrown, 'sink', `write '${this.path}'`);
    }
  }

  async commit(): Promise<void> {
    try {
      await this.#close();
      if (this.#temporary) await rename(this.#temporary, this.#target);
      this.#temporary = undefined;
    } catch (thrown) {
      throw fileError(thrown, 'sink', `write '${this.path}'`);
    }
  }

  async discard(): Promise<void> {
    await this.#close();
    if (this.#temporary) await unlink(this.#temporary).catch(unlessMissing);
    this.#temporary = undefined;
  }

  async #refuse(existing: Stats): Promise<void> {
    // A rename would not ask.
    await access(this.#target, constants.W_OK);
    if (!existing.isFile() && !existing.isBlockDevice()) {
      throw new DecantError('usage', `'${this.path}' is neither a regular file nor a block device`);
    }
    for (const [at, spec] of this.sources.entries()) {
      if (!('fd' in spec)) continue;
      const source = await promisify(fstat)(spec.fd);
      if (source.ino !== existing.ino || source.dev !== existing.dev) continue;
      const what = at === 0 ? 'the image itself' : 'a file that the image needs';
      throw new DecantError('usage', `'${this.path}' is ${what}; choose another output`);
    }
  }

  async #openFile(existing: Stats | undefined): Promise<TargetSpec> {
    // A name may have 255 bytes.
    const name = `.${Buffer.from(basename(this.#target))
      .subarray(0, 200)
      .toString()
      .replace(/\uFFFD+$/, '')}.${randomUUID()}.partial`;
    const temporary = join(dirname(this.#target), name);
    this.#fd = await promisify(open)(temporary, O_CREAT | O_EXCL | O_RDWR, 0o666);
    this.#temporary = temporary;
    if (existing) await promisify(fchmod)(this.#fd, existing.mode & 0o7777);
    return { fd: this.#fd, dense: false, sync: this.sync };
  }

  async #openDevice(device: Stats, virtualSize: number): Promise<TargetSpec> {
    const [major, minor] = deviceNumbers(device.rdev);
    const sectors = Number(await readFile(`/sys/dev/block/${major}:${minor}/size`, 'utf8'));
    if (sectors * SECTOR < virtualSize) {
      throw new DecantError(
        'usage',
        `'${this.path}' holds ${sectors * SECTOR} bytes, but the disk has ${virtualSize}; choose a larger device`,
      );
    }
    this.#fd = await promisify(open)(this.#target, O_WRONLY | O_EXCL);
    return { fd: this.#fd, dense: true, sync: this.sync };
  }

  async #close(): Promise<void> {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) await promisify(close)(fd);
  }
}

/** Major and minor number of a device, as glibc's `gnu_dev_major` and `gnu_dev_minor` split it. */
function deviceNumbers(rdev: number): [number, number] {
  const device = BigInt(rdev);
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  return [Number(major), Number(minor)];
}

/** The file that `path` stands for; it need not exist, not even behind a link. */
async function followLinks(path: string): Promise<string> {
  let target = resolve(path);
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const link = await readlink(target).catch(() => undefined);
    if (link === undefined) return join(await realpath(dirname(target)), basename(target));
    target = resolve(dirname(target), link);
  }
  throw new DecantError('usage', `'${path}' is a link in a circle`);
}

function unlessMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}
