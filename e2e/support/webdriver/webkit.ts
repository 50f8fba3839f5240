// WebKitGTK as Debian ships it, driven by WebKitWebDriver on a display of its own.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startDisplay } from '../save-dialog.mjs';
import { type Command, type CommandName, pause, Session } from './session.js';

const BROWSER = fileURLToPath(new URL('webkit-browser.py', import.meta.url));

/** Features that are enabled in Safari, but not in WebKitGTK. */
const LIKE_SAFARI = ['FileSystem', 'AccessHandle', 'FileSystemWritableStream', 'StorageAPI', 'StorageAPIEstimate'];

const PATHS: Record<Exclude<CommandName, 'TakeScreenshot'>, (id: unknown) => string> = {
  SetTimeouts: () => 'timeouts',
  Navigate: () => 'url',
  ExecuteAsyncScript: () => 'execute/async',
  ElementClick: (id) => `element/${id}/click`,
  ElementSendKeys: (id) => `element/${id}/value`,
};

interface WebKitOptions {
  incognito?: boolean;
  /** With the features that Safari has, as far as WebKitGTK has them. */
  likeSafari?: boolean;
}

export async function startWebKit(
  folder: string,
  { incognito = false, likeSafari = false }: WebKitOptions = {},
): Promise<Session> {
  const downloads = join(folder, 'downloads');
  const temporary = join(folder, 'tmp');
  mkdirSync(downloads, { recursive: true });
  mkdirSync(temporary, { recursive: true });
  const display = await startDisplay();
  const port = await freePort();
  const environment = {
    ...process.env,
    DISPLAY: display.name,
    HOME: folder,
    // WebKit leaves there what `createWritable` was written to.
    TMPDIR: temporary,
    NO_AT_BRIDGE: '1',
    // Root may not make the namespaces of its sandbox.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    ...(likeSafari ? { JSC_useSharedArrayBuffer: '1' } : {}),
  };
  const driver = spawn('WebKitWebDriver', [`--port=${port}`], { stdio: 'ignore', env: environment });
  const ended = new Promise<void>((resolve) => driver.once('close', () => resolve()));

  const send = (method: string, path: string, body?: object) => answer(port, method, `/session${path}`, body);

  let session = '';
  const stop = async () => {
    if (session !== '') await send('DELETE', session).catch(() => {});
    driver.kill();
    await ended;
    display.stop();
  };
  try {
    await answers(port);
    const args = [folder, incognito ? 'private' : 'profile', likeSafari ? LIKE_SAFARI.join() : ''];
    const started = await send('POST', '', {
      capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': { binary: BROWSER, args } } },
    });
    const { sessionId, capabilities } = started as { sessionId: string; capabilities: { browserVersion: string } };
    session = `/${sessionId}`;
    const command: Command = (name, { id, ...parameters }) =>
      name === 'TakeScreenshot'
        ? send('GET', `${session}/screenshot`)
        : send('POST', `${session}/${PATHS[name](id)}`, parameters);
    return new Session(command, `WebKitGTK ${capabilities.browserVersion}`, downloads, stop);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Waits for a server on `port`. */
async function answers(port: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await answer(port, 'GET', '/status');
      return;
    } catch (thrown) {
      if (tries === 100) throw thrown;
      await pause();
    }
  }
}

/** Not by `fetch`, which waits five minutes for an answer and no longer. */
function answer(port: number, method: string, path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' };
    const asked = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => {
        const { value } = JSON.parse(text) as { value: { error?: string; message?: string } | null };
        if (response.statusCode === 200) resolve(value);
        else reject(new Error(`${method} ${path}: ${value?.error}: ${value?.message}`));
      });
    });
    asked.once('error', reject);
    asked.end(body && JSON.stringify(body));
  });
}
