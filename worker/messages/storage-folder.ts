// The location of temporary files in the origin's private file system: the calling side creates them, workers open them by
// name.

/** The version of files and locks: versions of the package in one origin leave each other's files alone. */
export const PROTOCOL = 'decant-1';

/** The folder of all temporary files. */
export const FOLDER = `.${PROTOCOL}`;

/** The name of the journal of a temporary file. */
export const journalName = (file: string): string => `${file}.journal`;

/** Matches the suffix of a journal's name, which its file does not have. */
export const JOURNAL = /\.journal$/;
