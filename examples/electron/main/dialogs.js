// The system's file dialogs.

import { dialog } from 'electron';
import { filters } from './filters.js';

/** Makes the dialogs of `window`. A cancelled dialog resolves to undefined, or to no paths. */
export const fileDialogs = (window) => ({
  async image() {
    const { filePaths } = await dialog.showOpenDialog(window, { properties: ['openFile'], filters });
    return filePaths[0];
  },
  async companions() {
    const { filePaths } = await dialog.showOpenDialog(window, { properties: ['openFile', 'multiSelections'] });
    return filePaths;
  },
  async output(suggested) {
    const { canceled, filePath } = await dialog.showSaveDialog(window, { defaultPath: suggested });
    return canceled ? undefined : filePath;
  },
});
