// Declarations that TypeScript's library lacks: only Chromium has these.

interface PickerType {
  description: string;
  accept: Record<string, string[]>;
}

declare function showSaveFilePicker(options: {
  id: string;
  suggestedName: string;
  types: PickerType[];
}): Promise<FileSystemFileHandle>;

declare function showOpenFilePicker(options: { id: string; multiple: boolean }): Promise<FileSystemFileHandle[]>;

declare function showDirectoryPicker(options: {
  id: string;
  mode: 'read' | 'readwrite';
}): Promise<FileSystemDirectoryHandle>;

interface FileSystemHandle {
  queryPermission(options: { mode: 'read' | 'readwrite' }): Promise<PermissionState>;
  requestPermission(options: { mode: 'read' | 'readwrite' }): Promise<PermissionState>;
}

interface FileSystemFileHandle {
  remove?(): Promise<void>;
}

interface DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}
