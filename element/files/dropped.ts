// Files and links that the person drops, and files from the browser's dialog.

import { type InputFile, inputOf, isNamed } from './input-file.js';
import { type Listed, MOST_FILES, readLikely } from './many-files.js';

/** A drag with data. */
type Dragging = DragEvent & { dataTransfer: DataTransfer };

export const hasFiles = ({ dataTransfer }: Dragging): boolean => dataTransfer.types.includes('Files');

/** Whether files or a link are dragged. A link that is dragged over a text field stays text. */
export function hasFilesOrLink(event: DragEvent): event is Dragging {
  const types = event.dataTransfer?.types ?? [];
  const [target] = event.composedPath();
  return types.includes('Files') || (types.includes('text/uri-list') && !(target instanceof HTMLInputElement));
}

/** The first address in a dragged list of links, where lines with `#` are comments. */
export const linkIn = (transfer: DataTransfer): string =>
  transfer
    .getData('text/uri-list')
    .split(/\r?\n/)
    .find((line) => line !== '' && !line.startsWith('#')) ?? '';

/** Where VirtualBox puts the disks of snapshots, in the folder of a machine. */
const SNAPSHOTS = 'Snapshots';

/**
 * Reads the files of a drop, and those directly in dropped folders and in `Snapshots` there. If there are more than
 * `MOST_FILES`, those with an extension of another kind, such as `.jpg`, are not read: empty files with their names stand for them.
 */
export async function filesOf(transfer: DataTransfer): Promise<InputFile[]> {
  // All must be asked for now, because the list is empty after the event.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const found = items.map((item) => ({
    // Browsers refuse handles in some folders of the system, but not the files.
    handle: item.getAsFileSystemHandle?.().catch(() => null),
    entry: item.webkitGetAsEntry?.() ?? null,
    file: item.getAsFile(),
  }));
  const listed = (await Promise.all(found.map(listItem))).flat();
  if (listed.length > MOST_FILES) return readLikely(listed);
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

const listedBy = (handle: FileSystemFileHandle): Listed => ({ name: handle.name, read: () => inputOf(handle) });

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
    return isNamed(thrown, 'AbortError') ? [] : undefined;
  } finally {
    isPicking = false;
  }
}
