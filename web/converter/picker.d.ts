// What TypeScript's library leaves out: it is in Chromium only.

declare function showSaveFilePicker(options: {
  suggestedName: string;
  types: { description: string; accept: Record<string, string[]> }[];
}): Promise<FileSystemFileHandle>;
