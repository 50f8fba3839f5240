// A window and its session.

import { fileURLToPath } from 'node:url';
import { BrowserWindow, MessageChannelMain, utilityProcess } from 'electron';
import { fileDialogs } from './dialogs.js';
import { HOME } from './pages.js';
import { Session } from './session.js';
import { PROCESS } from './unpacked.js';
import { WorkClient } from './work-client.js';

const PRELOAD = fileURLToPath(new URL('../preload/preload.cjs', import.meta.url));

const sessions = new WeakMap();

/** Returns the session of the window that shows `contents`. */
export const sessionOf = (contents) => sessions.get(contents);

/** Hides the progress bar in the task bar. */
const NO_PROGRESS = -1;
/** Shows a progress bar without a value. */
const INDETERMINATE = 2;

function makeSession(window) {
  const start = () => utilityProcess.fork(PROCESS, [], { serviceName: 'Conversion' });
  const showShare = (share) => {
    if (!window.isDestroyed()) window.setProgressBar(share);
  };
  const page = {
    progressPort() {
      const { port1, port2 } = new MessageChannelMain();
      window.webContents.postMessage('progress', null, [port2]);
      return port1;
    },
    done: () => showShare(NO_PROGRESS),
  };
  const work = new WorkClient(start, (share = INDETERMINATE) => showShare(share));
  return new Session(work, fileDialogs(window), page);
}

/** Ends a conversion before its window closes: a killed process leaves a partial file. */
function stopBeforeClosing(window, session) {
  window.on('close', (event) => {
    if (!session.busy) return;
    event.preventDefault();
    session.stop().then(() => window.close(), console.error);
  });
  window.on('closed', () => session.end());
}

export function openWindow() {
  const window = new BrowserWindow({
    width: 720,
    height: 640,
    title: 'Decant',
    webPreferences: { preload: PRELOAD, contextIsolation: true, sandbox: true, nodeIntegration: false },
  });
  const session = makeSession(window);
  sessions.set(window.webContents, session);
  stopBeforeClosing(window, session);
  window.loadURL(HOME).catch(console.error);
}
