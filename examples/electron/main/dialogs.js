// The system's dialogs for files.

import { dialog } from 'electron';

const IMAGES = ['qcow2', 'qcow', 'vmdk', 'vdi', 'qed', 'ova', 'gz', 'tar', 'img'];
const filters = [
  { name: 'Disk images', extensions: IMAGES },
  { name: 'All files', extensions: ['*'] },
];

/** The dialogs of `window`. A dialog that was closed without a choice answers with undefined, or with no paths. */
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
