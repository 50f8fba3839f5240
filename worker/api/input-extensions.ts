// The extensions of what `open` reads, for dialogs.

import { CONTAINERS, FORMATS } from '../public/registry.js';

/**
 * Lists the extensions of files that `open` reads, in lower case and with the dot: of images, configurations of virtual machines,
 * archives and compressed files. For the filter of a file dialog, or `accept` of a file input. An image may also have another
 * extension, or none.
 */
export const inputExtensions = (): string[] => [
  ...FORMATS.filter(({ kind }) => kind === 'image' || kind === 'machine').flatMap(({ extensions }) => extensions),
  ...CONTAINERS.flatMap(({ extensions }) => extensions),
];
