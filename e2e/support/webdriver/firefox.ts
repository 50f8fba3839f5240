// Firefox as Debian ships it, driven by Marionette: the protocol under its WebDriver.
// https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Command, pause, Session } from './session.js';

export async function startFirefox(folder: string, { incognito = false } = {}): Promise<Session> {
  const [profile, downloads] = [join(folder, 'profile'), join(folder, 'downloads')];
  for (const made of [profile, downloads]) mkdirSync(made, { recursive: true });
  const preferences = {
    'marionette.port': 0,
    'browser.privatebrowsing.autostart': incognito,
    'browser.download.folderList': 2,
    'browser.download.dir': downloads,
    // Whether a page may store more than 10 GiB: yes, as if the person had said so.
    'permissions.default.persistent-storage': 1,
    // It is to ask nobody anything, neither a person nor a server.
    'browser.shell.checkDefaultBrowser': false,
    'browser.startup.homepage_override.mstone': 'ignore',
    'app.normandy.enabled': false,
    'app.update.enabled': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false,
    'services.settings.server': 'data:,',
    'browser.safebrowsing.downloads.enabled': false,
    'extensions.update.enabled': false,
  };
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`);
  writeFileSync(join(profile, 'user.js'), lines.join(''));

  const options = ['--headless', '--no-remote', '--profile', profile, '--marionette', 'about:blank'];
  const firefox = spawn('firefox-esr', options, { stdio: 'ignore', env: { ...process.env, HOME: folder } });
  const ended = new Promise<void>((resolve) => firefox.once('close', () => resolve()));
  const stop = async () => {
    firefox.kill();
    await ended;
  };
  try {
    const socket = connect(await portOf(profile, firefox), '127.0.0.1');
    const command = await converse(socket);
    const { capabilities } = (await command('NewSession', {})) as { capabilities: { browserVersion: string } };
    return new Session(command as Command, `Firefox ${capabilities.browserVersion}`, downloads, stop);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

/** Firefox writes the port that it listens on into its profile. */
async function portOf(profile: string, firefox: ChildProcess): Promise<number> {
  while (firefox.exitCode === null) {
    try {
      const port = Number(readFileSync(join(profile, 'MarionetteActivePort'), 'utf8'));
      if (port > 0) return port;
    } catch {
      // Not written yet.
    }
    await pause();
  }
  throw new Error('firefox-esr ended before it could be driven');
}

type Reply = [type: 1, id: number, error: { error: string; message: string } | null, value: unknown];

/** A message is its length in bytes, a colon, and JSON. Firefox greets first. */
async function converse(socket: Socket): Promise<(name: string, parameters: object) => Promise<unknown>> {
  const waiting = new Map<number, (reply: Reply) => void>();
  let greeted = () => {};
  const greeting = new Promise<void>((resolve, reject) => {
    greeted = resolve;
    socket.once('error', reject);
  });
  let received = Buffer.alloc(0);
  socket.on('data', (data) => {
    received = Buffer.concat([received, data]);
    for (;;) {
      const colon = received.indexOf(':');
      if (colon === -1) return;
      const end = colon + 1 + Number(received.subarray(0, colon).toString());
      if (received.length < end) return;
      const message = JSON.parse(received.subarray(colon + 1, end).toString());
      received = received.subarray(end);
      if (!Array.isArray(message)) greeted();
      else waiting.get((message as Reply)[1])?.(message as Reply);
    }
  });
  socket.on('close', () => {
    const error = { error: 'gone', message: 'Firefox has closed the connection' };
    for (const [id, reply] of waiting) reply([1, id, error, null]);
  });
  await greeting;

  let last = 0;
  return async (name, parameters) => {
    last += 1;
    const id = last;
    const reply = new Promise<Reply>((resolve) => waiting.set(id, resolve));
    const message = JSON.stringify([0, id, `WebDriver:${name}`, parameters]);
    socket.write(`${Buffer.byteLength(message)}:${message}`);
    const [, , error, value] = await reply;
    waiting.delete(id);
    if (error) throw new Error(`${name}: ${error.error}: ${error.message}`);
    return value !== null && typeof value === 'object' && 'value' in value ? value.value : value;
  };
}
