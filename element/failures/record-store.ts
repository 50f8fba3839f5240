// Records in the browser's database, which can store handles of files and folders.

const DATABASE = 'decant';
const STORE = 'unfinished';

interface Stored {
  id: string;
}

/** Opens the database; `undefined` if it does not exist and is not to be created. */
function openDatabase(creates: boolean): Promise<IDBDatabase | undefined> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => {
      if (creates) opening.result.createObjectStore(STORE, { keyPath: 'id' });
      else opening.transaction!.abort();
    };
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => {
      if (creates) reject(opening.error);
      else resolve(undefined);
    };
  });
}

async function ask<T>(
  mode: IDBTransactionMode,
  creates: boolean,
  request: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | undefined> {
  const database = await openDatabase(creates);
  if (!database) return undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const asked = request(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** Stores `record`, in place of the one with its ID. */
export async function storeRecord<T extends Stored>(record: T): Promise<void> {
  await ask('readwrite', true, (store) => store.put(record));
}

export async function deleteRecord(id: string): Promise<void> {
  await ask('readwrite', false, (store) => store.delete(id));
}

/** All records. Creates no database. */
export async function storedRecords<T extends Stored>(): Promise<T[]> {
  return (await ask('readonly', false, (store) => store.getAll() as IDBRequest<T[]>)) ?? [];
}
