// The filters of the dialog for images.

import { inputExtensions } from 'decant';

export const filters = [
  // Without the dot, as Electron takes them.
  { name: 'Disk images', extensions: inputExtensions().map((extension) => extension.slice(1)) },
  { name: 'All files', extensions: ['*'] },
];
