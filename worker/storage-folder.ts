// Where temporary files lie in the origin's private file system, for both sides: one makes them, workers open them by
// name.

/** The folder of all temporary files. */
export const FOLDER = '.decant';
