// Parts of the web platform that TypeScript's library for pages leaves out.

interface FileSystemSyncAccessHandle {
  truncate(size: number): void;
  flush(): void;
  close(): void;
  getSize(): number;
}

interface FileSystemFileHandle {
  createSyncAccessHandle(options?: {
    mode?: 'readwrite' | 'read-only' | 'readwrite-unsafe';
  }): Promise<FileSystemSyncAccessHandle>;
  move(folder: FileSystemDirectoryHandle, name: string): Promise<void>;
  remove?(): Promise<void>;
}

declare var FileSystemSyncAccessHandle: { prototype: FileSystemSyncAccessHandle } | undefined;
