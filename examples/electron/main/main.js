// The main process: one window, its page, and the page's calls.

import { app, BrowserWindow, ipcMain, protocol, session } from 'electron';
import { answer, NAMES } from './calls.js';
import { respond, SCHEME } from './pages.js';
import { openWindow, sessionOf } from './window.js';

protocol.registerSchemesAsPrivileged([{ scheme: SCHEME, privileges: { standard: true, secure: true } }]);
app.enableSandbox();

// The page cannot navigate or open windows.
app.on('web-contents-created', (_event, contents) => {
  contents.setWindowOpenHandler(() => ({ action: 'deny' }));
  contents.on('will-navigate', (event) => event.preventDefault());
  contents.on('will-redirect', (event) => event.preventDefault());
  contents.on('will-attach-webview', (event) => event.preventDefault());
});

function start() {
  session.defaultSession.setPermissionRequestHandler((_contents, _permission, decide) => decide(false));
  session.defaultSession.setPermissionCheckHandler(() => false);
  protocol.handle(SCHEME, (request) => respond(request.url));
  for (const name of NAMES) {
    ipcMain.handle(name, (event, ...values) => answer(name, sessionOf(event.sender), event, values));
  }
  app.on('activate', () => {
    if (BrowserWindow.getAllWindows().length === 0) openWindow();
  });
  openWindow();
}

app.on('window-all-closed', () => {
  if (process.platform !== 'darwin') app.quit();
});

// Not awaited: Electron becomes ready only after this module has loaded.
app.whenReady().then(start, (error) => {
  console.error(error);
  app.exit(1);
});
