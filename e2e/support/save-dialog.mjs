// A display of its own, and the browser's save dialog on it, operated by xdotool.

import { execFileSync, spawn } from 'node:child_process';

const pause = (/** @type {number} */ milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Starts Xvfb on a display that is free.
 * @returns {Promise<{ name: string, stop: () => void }>}
 */
export async function startDisplay() {
  const display = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x1024x24'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const number = await new Promise((resolve) => display.stdout.once('data', (data) => resolve(String(data).trim())));
  return { name: `:${number}`, stop: () => display.kill() };
}

/**
 * Types `path` into the dialog and clicks on Save.
 * @param {string} display
 * @param {string} path
 */
export async function save(display, path) {
  const xdotool = (/** @type {string[]} */ ...args) =>
    execFileSync('xdotool', args, {
      encoding: 'utf8',
      env: { ...process.env, DISPLAY: display },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  let dialog = '';
  for (let tries = 0; dialog === '' && tries < 100; tries += 1) {
    await pause(100);
    try {
      dialog = xdotool('search', '--onlyvisible', '--name', 'this site can see edits').trim().split('\n')[0] ?? '';
    } catch {
      // Not there yet.
    }
  }
  await pause(500);
  xdotool('windowfocus', dialog);
  xdotool('key', 'ctrl+a');
  xdotool('type', path);
  await pause(300);
  const size = /WIDTH=(\d+)\nHEIGHT=(\d+)/.exec(xdotool('getwindowgeometry', '--shell', dialog)) ?? [];
  const [x, y] = [Number(size[1]) - 50, Number(size[2]) - 24];
  xdotool('mousemove', '--window', dialog, String(x), String(y), 'click', '1');
}
