// The journal of an upload, in the user's state folder. This process owns it while it runs; a later one takes it over.

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { isOwnedByUser } from '../targets/node/journal.js';
import { partialName, resumables, sweepFolder } from '../targets/node/partial.js';
import { pathIn, type ResolvedPath } from '../targets/node/resolved-path.js';
import type { UploadJournal } from '../upload/upload-options.js';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_RDWR } = constants;
const OWNER_ONLY = 0o600;
const FOLDER_OWNER_ONLY = 0o700;
/** The maximum size of a journal, in bytes: it has at most 10,000 lines. */
const MAX_SIZE = 16 << 20;

/** XDG Base Directory Specification. */
function stateFolder(): string {
  const { XDG_STATE_HOME: named, LOCALAPPDATA: local } = process.env;
  if (named && isAbsolute(named)) return join(named, 'decant');
  return local ? join(local, 'decant') : join(homedir(), '.local', 'state', 'decant');
}

/** A digest, so that the name does not reveal the URL. */
function journalPath(url: string): ResolvedPath {
  const { origin, pathname } = new URL(url);
  const name = createHash('sha256').update(`${origin}${pathname}`).digest('hex').slice(0, 32);
  return { folder: Buffer.from(stateFolder()), name: Buffer.from(name) };
}

/** Returns the journal of uploads to `url`. Opens no file before its first use. */
export const uploadJournal = (url: string): UploadJournal => new FileJournal(url);

class FileJournal implements UploadJournal {
  #open: { path: Buffer; file: FileHandle } | undefined;

  constructor(private readonly url: string) {}

  async read(): Promise<string | undefined> {
    const location = journalPath(this.url);
    const folder = await lstat(location.folder, { bigint: true }).catch(() => undefined);
    if (!folder) return undefined;
    const now = BigInt(Date.now()) * 1_000_000n;
    await sweepFolder(location, now, undefined, false);
    for (const path of await resumables(location, now)) {
      const text = await this.#takeOver(path, newPath(location));
      if (text !== undefined) return text;
    }
    return undefined;
  }

  async append(text: string): Promise<void> {
    this.#open ??= await this.#create();
    const { file } = this.#open;
    try {
      await file.appendFile(text);
      await file.datasync();
    } catch (thrown) {
      // Ignored: the first error is reported. An empty journal, as on a full disk, is useless.
      if ((await file.stat()).size === 0) await this.clear().catch(() => {});
      throw thrown;
    }
  }

  async clear(): Promise<void> {
    const held = this.#open;
    this.#open = undefined;
    if (!held) return;
    await held.file.close();
    await unlink(held.path);
  }

  /** Reads the file at `path`. `undefined` if another process was faster, or another user could have written it. */
  async #takeOver(path: Buffer, own: Buffer): Promise<string | undefined> {
    try {
      await rename(path, own);
    } catch {
      return undefined;
    }
    const file = await open(own, O_RDWR | O_APPEND | O_NOFOLLOW);
    const stats = await file.stat({ bigint: true });
    if (!isOwnedByUser(stats) || stats.size > MAX_SIZE) {
      await file.close();
      return undefined;
    }
    this.#open = { path: own, file };
    return file.readFile('utf8');
  }

  async #create(): Promise<{ path: Buffer; file: FileHandle }> {
    const location = journalPath(this.url);
    await mkdir(location.folder, { recursive: true, mode: FOLDER_OWNER_ONLY });
    const path = newPath(location);
    return { path, file: await open(path, O_CREAT | O_EXCL | O_RDWR | O_APPEND, OWNER_ONLY) };
  }
}

const newPath = (location: ResolvedPath): Buffer => pathIn(location.folder, partialName(location, 'resumable'));
