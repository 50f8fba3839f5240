// Files that the person gives by a drop, a paste or a dialog, and links.

import type { Input } from 'decant';
import { Link } from './links.js';
import { loadPart } from './load-part.js';

/**
 * A file or link that the person has given. With handles, two files can be compared.
 */
export interface Given {
  file: File;
  handle?: FileSystemFileHandle;
  /** The link, if it is one. Then `file` is empty and has only the name. */
  link?: Link;
  /** The name of the missing disk of a machine as which it is used. */
  as?: string;
  /** Its dropped folder, the same object for all files of one. */
  folder?: object;
}

/** The most files in one drop that may be images. More come from a whole folder that was dropped by mistake. */
export const MOST = 200;

/** Loads what passes over files that cannot be images, when there are more than `MOST`. */
export const loadManyFiles = () => loadPart('many files', () => import('./many-files.js'));

/** A file of a drop that is not read yet. */
export interface Listed {
  name: string;
  read(): Promise<Given>;
}

/** The input for `open`. Asks the server of a link, and fails as `httpSource` does. */
export const sourceOf = async ({ file, handle, link }: Given, signal: AbortSignal): Promise<Input> =>
  link ? link.source(signal) : (handle ?? file);

/** Whether both are certainly the same file or link: by handle, by URL, or as one object. */
export async function isSame(a: Given, b: Given): Promise<boolean> {
  if (a.handle && b.handle) return a.handle.isSameEntry(b.handle);
  if (a.link || b.link) return a.link?.url.href === b.link?.url.href;
  return a.file === b.file;
}

/** Whether both may be the same. Without two handles, names, sizes and times decide. */
export async function mayBeSame(a: Given, b: Given): Promise<boolean> {
  return (a.handle && b.handle) || a.link || b.link ? isSame(a, b) : isAlike(a.file, b.file);
}

/** Returns `files` without those that are among `others` according to `isOne`. */
export async function without(files: Given[], others: Given[], isOne: typeof isSame): Promise<Given[]> {
  const found = await Promise.all(files.map((file) => Promise.all(others.map((other) => isOne(file, other)))));
  return files.filter((_, at) => !found[at]!.includes(true));
}

/** Whether two `File` objects may be the same file. */
export const isAlike = (a: File, b: File): boolean =>
  a.name === b.name && a.size === b.size && a.lastModified === b.lastModified;

export async function givenBy(handle: FileSystemFileHandle): Promise<Given> {
  return { file: await handle.getFile(), handle };
}

export const plain = (files: Iterable<File>): Given[] => [...files].map((file) => ({ file }));

/** Where VirtualBox puts the disks of snapshots, in the folder of a machine. */
const SNAPSHOTS = 'Snapshots';

/**
 * Reads the files of a drop, and those directly in dropped folders and in `Snapshots` there. Of more than `MOST`, those whose
 * names are of no image are empty.
 */
export async function filesOf(transfer: DataTransfer): Promise<Given[]> {
  // All must be asked for now, because the list is empty after the event.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const found = items.map((item) => ({
    // Browsers refuse handles in some folders of the system, but not the files.
    handle: item.getAsFileSystemHandle?.().catch(() => null),
    entry: item.webkitGetAsEntry?.() ?? null,
    file: item.getAsFile(),
  }));
  const listed = (await Promise.all(found.map(listItem))).flat();
  if (listed.length > MOST) return (await loadManyFiles()).readLikely(listed);
  return Promise.all(listed.map((one) => one.read()));
}

interface Dropped {
  handle: Promise<FileSystemHandle | null> | undefined;
  entry: FileSystemEntry | null;
  file: File | null;
}

async function listItem({ handle, entry, file }: Dropped): Promise<Listed[]> {
  const known = await handle;
  if (known?.kind === 'file') return [listedBy(known as FileSystemFileHandle)];
  const folder = known ?? entry;
  const files: Listed[] = [];
  if (known?.kind === 'directory') await addFromHandle(files, known as FileSystemDirectoryHandle);
  else if (entry?.isDirectory) await addFromEntry(files, entry as FileSystemDirectoryEntry);
  else return file ? [{ name: file.name, read: async () => ({ file }) }] : [];
  return files.map(({ name, read }) => ({ name, read: async () => ({ ...(await read()), folder: folder! }) }));
}

const listedBy = (handle: FileSystemFileHandle): Listed => ({ name: handle.name, read: () => givenBy(handle) });

const isHidden = (name: string): boolean => name.startsWith('.');

/** Adds files in `folder` to `files`; with `isInner`, `folder` is in a dropped one. */
async function addFromHandle(files: Listed[], folder: FileSystemDirectoryHandle, isInner = false): Promise<void> {
  for await (const [name, handle] of folder.entries()) {
    if (handle.kind === 'file' && !isHidden(name)) files.push(listedBy(handle as FileSystemFileHandle));
    const isSnapshots = handle.kind === 'directory' && name === SNAPSHOTS && !isInner;
    if (isSnapshots) await addFromHandle(files, handle as FileSystemDirectoryHandle, true);
  }
}

/** Like `addFromHandle`, in browsers without handles for drops. */
async function addFromEntry(files: Listed[], folder: FileSystemDirectoryEntry, isInner = false): Promise<void> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    found.push(...some);
  }
  const entries = found.filter((entry) => entry.isFile && !isHidden(entry.name)) as FileSystemFileEntry[];
  const fileOf = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject));
  for (const entry of entries) files.push({ name: entry.name, read: async () => ({ file: await fileOf(entry) }) });
  const inner = found.find((entry) => entry.isDirectory && entry.name === SNAPSHOTS && !isInner);
  if (inner) await addFromEntry(files, inner as FileSystemDirectoryEntry, true);
}

/** Whether the dialog for files is open, so that a double click opens it once. */
let isPicking = false;

/** Opens the browser's dialog for files. Returns `undefined` if there is none; then an `<input>` must be used. */
export async function pickFiles(multiple: boolean): Promise<FileSystemFileHandle[] | undefined> {
  if (!('showOpenFilePicker' in globalThis)) return undefined;
  if (isPicking) return [];
  isPicking = true;
  try {
    return await showOpenFilePicker({ id: 'decant-open', multiple });
  } catch (thrown) {
    // The person has closed it. Any other failure means that this page may not open the dialog.
    return thrown instanceof DOMException && thrown.name === 'AbortError' ? [] : undefined;
  } finally {
    isPicking = false;
  }
}

/** The image at `url`, with an empty file that has its name. */
export function linked(url: URL): Given {
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? url.host;
  return { file: new File([], decoded(last)), link: new Link(url) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
