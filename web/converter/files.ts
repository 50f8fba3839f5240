// Files out of a drop, a paste or a chooser.

/** The files of a drop or a paste; of a folder, those directly in it. */
export async function filesOf(transfer: DataTransfer): Promise<File[]> {
  // Both must be asked for at once: the list is empty after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const plain = [...transfer.files];
  const folders = entries.filter((entry) => entry?.isDirectory) as FileSystemDirectoryEntry[];
  if (folders.length === 0) return plain;
  const single = entries.filter((entry) => entry?.isFile) as FileSystemFileEntry[];
  const inside = await Promise.all(folders.map(filesIn));
  return Promise.all([...single, ...inside.flat()].map(fileOf));
}

async function filesIn(folder: FileSystemDirectoryEntry): Promise<FileSystemFileEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    found.push(...some);
  }
  const files = found.filter((entry) => entry.isFile && !entry.name.startsWith('.'));
  return files as FileSystemFileEntry[];
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));
