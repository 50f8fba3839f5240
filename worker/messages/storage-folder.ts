// Where temporary files lie in the origin's private file system, for both sides: one makes them, workers open them by
// name.

/** Changes with what files and locks mean: another version of the package in the same origin leaves them alone. */
export const PROTOCOL = 'decant-1';

/** The folder of all temporary files. */
export const FOLDER = `.${PROTOCOL}`;

/** The name of the journal of a temporary file. */
export const journalName = (file: string): string => `${file}.journal`;

/** What is left out of the name of a journal, for that of its file. */
export const JOURNAL = /\.journal$/;
