// The page's API. It passes files, never paths.

const { contextBridge, ipcRenderer, webUtils } = require('electron');

const path = (file) => webUtils.getPathForFile(file);

let onProgress = (_progress) => {};

ipcRenderer.on('progress', ({ ports: [port] }) => {
  port.onmessage = ({ data }) => onProgress(data);
});

contextBridge.exposeInMainWorld('converter', {
  chooseImage: () => ipcRenderer.invoke('choose-image'),
  openImage: (file) => ipcRenderer.invoke('open-image', path(file)),
  chooseCompanions: () => ipcRenderer.invoke('choose-companions'),
  addCompanions: (files) => ipcRenderer.invoke('add-companions', files.map(path)),
  givePassword: (password) => ipcRenderer.invoke('give-password', password),
  chooseOutput: (format) => ipcRenderer.invoke('choose-output', format),
  convert: () => ipcRenderer.invoke('convert'),
  cancel: () => ipcRenderer.invoke('cancel'),
  /** Calls `listener` with `{ phase, share, bytesPerSecond, secondsLeft }`, at most ten times a second. */
  onProgress(listener) {
    onProgress = listener;
  },
});
