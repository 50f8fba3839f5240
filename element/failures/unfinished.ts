// Remembers outputs while they are written: a closed tab leaves files in folders or from the save dialog empty, and loses a streamed
// download.

import { isNamed } from '../files/input-file.js';
import type { Remains, Target } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import { deleteRecord, storedRecords, storeRecord } from './record-store.js';

/** How long a file is remembered, in milliseconds. */
const REMEMBERED = 7 * 86_400_000;

type Entry = FileSystemDirectoryHandle | FileSystemFileHandle;

/** A file that a conversion has created, or that the save dialog has emptied; or a streamed download. */
interface Unfinished {
  id: string;
  /** The name of the image. */
  image: string;
  /** The name of the file. */
  name: string;
  /** The picked folder, or the file if the browser's save dialog was used; `undefined` for a streamed download. */
  entry: Entry | undefined;
  /** When the conversion began. */
  at: number;
}

/** The name of the lock that a tab holds while it writes the file. */
const lockName = (id: string): string => `decant:unfinished:${id}`;

/** The folder or file in which `target` leaves an empty file if the tab is closed; `undefined` if it leaves none. */
function entryOf(target: Target): Entry | undefined {
  if (target.kind === 'dialog') return target.handle;
  // An existing file in a folder stays unchanged until the output is complete.
  return target.kind === 'folder' && !target.replaces?.size ? target.folder : undefined;
}

/** Deletes the records of earlier conversions to the same file: the record of the new conversion replaces them. */
async function forgetEarlier(name: string, entry: Entry): Promise<void> {
  for (const { id, ...earlier } of await storedRecords<Unfinished>())
    if (earlier.name === name && earlier.entry && (await entry.isSameEntry(earlier.entry))) await deleteRecord(id);
}

/** Holds the lock `name` until the returned function is called. */
const hold = (name: string): Promise<() => void> =>
  new Promise((held, refused) => {
    const take = () => new Promise<void>((release) => held(release));
    navigator.locks.request(name, take).catch(refused);
  });

/** Stores a record of the file at `target`, the output of `image`, until the returned function is called. */
export async function rememberUnfinished(target: Target, image: string): Promise<() => Promise<void>> {
  const entry = entryOf(target);
  if (!entry && target.kind !== 'streamed') return async () => {};
  const record = { id: crypto.randomUUID(), image, name: target.name, entry, at: Date.now() };
  const release = await hold(lockName(record.id));
  try {
    if (entry) await forgetEarlier(target.name, entry);
    await storeRecord<Unfinished>(record);
  } catch (thrown) {
    release();
    throw thrown;
  }
  return () => deleteRecord(record.id).finally(release);
}

/** Lists the files that interrupted conversions may have left, and once the downloads that were lost. */
export async function remainsAtTargets(texts: AllTexts): Promise<Remains[]> {
  const records = await storedRecords<Unfinished>();
  if (records.length === 0) return [];
  const { held = [] } = await navigator.locks.query();
  const ended = records.filter(({ id }) => held.every(({ name }) => name !== lockName(id)));
  const remains = await Promise.all(
    ended.map(({ entry, ...record }) => (entry ? remainsOf({ ...record, entry }, texts) : lostDownload(record, texts))),
  );
  return remains.filter((one) => one !== undefined);
}

/** Describes a streamed download that was lost, and deletes its record. */
async function lostDownload({ id, image, name }: Omit<Unfinished, 'entry'>, texts: AllTexts): Promise<Remains> {
  await deleteRecord(id);
  return {
    image,
    text: texts.downloadLost(image, name),
    isListedOnce: true,
    action: texts.dismiss,
    remove: async () => '',
  };
}

/** A file whose folder is known, or its own handle. */
type UnfinishedFile = Unfinished & { entry: Entry };

/** Describes the file if it is empty or cannot be read. Deletes the record if the file has data or is gone, or after a week. */
async function remainsOf(record: UnfinishedFile, texts: AllTexts): Promise<Remains | undefined> {
  const { id, image, name, entry, at } = record;
  const mayLook = (await entry.queryPermission({ mode: 'read' })) === 'granted';
  // A file that cannot be read is treated as empty.
  const size = mayLook ? await sizeOf(record).catch(() => 0) : 0;
  if (Date.now() - at > REMEMBERED || size !== 0) {
    await deleteRecord(id);
    return undefined;
  }
  const folder = entry.kind === 'directory' ? entry.name : undefined;
  return {
    image,
    text: texts.fileInterrupted(image, name, folder),
    action: texts.removeFile(name),
    remove: () => remove(record, texts),
  };
}

/** The size of the file; `undefined` if it is gone. */
async function sizeOf({ entry, name }: UnfinishedFile): Promise<number | undefined> {
  try {
    const file = entry.kind === 'directory' ? await entry.getFileHandle(name) : entry;
    return (await file.getFile()).size;
  } catch (thrown) {
    if (isNamed(thrown, 'NotFoundError')) return undefined;
    throw thrown;
  }
}

/** Removes the file if it is empty. The browser may ask for permission. Resolves to a sentence about the outcome. */
async function remove(record: UnfinishedFile, texts: AllTexts): Promise<string> {
  const { id, entry, name } = record;
  try {
    if ((await entry.requestPermission({ mode: 'readwrite' })) !== 'granted') return texts.fileNotRemoved(name);
    const size = await sizeOf(record);
    // Throws if another tab or program is writing the file.
    if (size === 0) await (entry.kind === 'directory' ? entry.removeEntry(name) : entry.remove!());
    await deleteRecord(id);
    if (size === undefined) return texts.nothingLeft;
    return size === 0 ? texts.fileRemoved(name) : texts.fileStays(name);
  } catch {
    return texts.fileNotRemoved(name);
  }
}
