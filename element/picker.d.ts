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

interface DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}
