// Parts of the web platform that are missing in TypeScript's library `DOM`.

interface FileSystemSyncAccessHandle {
  truncate(size: number): void;
  read(bytes: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
  getSize(): number;
}

interface FileSystemCreateWritableOptions {
  /** Chromium only; other browsers ignore it. */
  mode?: 'siloed' | 'exclusive';
}

interface FileSystemFileHandle {
  createSyncAccessHandle(options?: {
    mode?: 'readwrite' | 'read-only' | 'readwrite-unsafe';
  }): Promise<FileSystemSyncAccessHandle>;
  move(folder: FileSystemDirectoryHandle, name: string): Promise<void>;
  remove?(): Promise<void>;
}

declare var FileSystemSyncAccessHandle: { prototype: FileSystemSyncAccessHandle } | undefined;
