// A display of its own, and the browser's dialogs on it, operated by xdotool.

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

/** The titles of the dialogs. */
export const SAVE = 'this site can see edits';
export const FOLDER = 'this site can save changes';

/**
 * @param {string} display
 * @param {string[]} args
 */
const xdotool = (display, ...args) =>
  execFileSync('xdotool', args, {
    encoding: 'utf8',
    env: { ...process.env, DISPLAY: display },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/**
 * The window of the dialog `title`, if it is there.
 * @param {string} display
 * @param {string} title
 */
function windowOf(display, title) {
  try {
    return xdotool(display, 'search', '--onlyvisible', '--name', title).trim().split('\n')[0] ?? '';
  } catch {
    return '';
  }
}

/**
 * The window of the dialog `title`, focused, as soon as it is there.
 * @param {string} display
 * @param {string} title
 */
export async function findDialog(display, title) {
  let dialog = '';
  for (let tries = 0; dialog === '' && tries < 100; tries += 1) {
    await pause(100);
    dialog = windowOf(display, title);
  }
  await pause(500);
  xdotool(display, 'windowfocus', dialog);
  return dialog;
}

/**
 * Types `path` into the dialog and clicks on its last button until it goes: a first click may only close the list of
 * files that begin like it.
 * @param {string} display
 * @param {string} title
 * @param {string} path
 */
async function answer(display, title, path) {
  const dialog = await findDialog(display, title);
  if (title === SAVE) xdotool(display, 'key', 'ctrl+a');
  xdotool(display, 'type', path);
  await pause(300);
  const size = /WIDTH=(\d+)\nHEIGHT=(\d+)/.exec(xdotool(display, 'getwindowgeometry', '--shell', dialog)) ?? [];
  const [x, y] = [Number(size[1]) - 50, Number(size[2]) - 24];
  for (let tries = 0; tries < 5 && windowOf(display, title) === dialog; tries += 1) {
    xdotool(display, 'mousemove', '--window', dialog, String(x), String(y), 'click', '1');
    for (let waits = 0; waits < 10 && windowOf(display, title) === dialog; waits += 1) await pause(100);
  }
}

/**
 * Saves as `path` by the save dialog.
 * @param {string} display
 * @param {string} path
 */
export const save = (display, path) => answer(display, SAVE, path);

/**
 * Picks the folder `path`, and presses the button that the browser offers then, until `isAnswered`: to allow
 * writing, or to go on where the folder is refused.
 * @param {string} display
 * @param {string} path
 * @param {() => Promise<boolean>} isAnswered
 */
export async function pickFolder(display, path, isAnswered) {
  await answer(display, FOLDER, path);
  // The browser ignores keys that are pressed as soon as it asks.
  await pause(1000);
  for (let tries = 0; tries < 20 && !(await isAnswered()); tries += 1) {
    xdotool(display, 'key', 'Tab');
    await pause(200);
    xdotool(display, 'key', 'Return');
    for (let waits = 0; waits < 30 && !(await isAnswered()); waits += 1) await pause(50);
  }
}

/** The first button of the question whether a page may use a folder again, "Allow this time". Keys do not reach it. */
const ALLOW_AGAIN = ['290', '303'];

/**
 * Allows the page to use a folder of an earlier visit again. Clicks until `isAnswered`.
 * @param {string} display
 * @param {() => Promise<boolean>} isAnswered
 */
export async function allowAgain(display, isAnswered) {
  for (let tries = 0; tries < 40 && !(await isAnswered()); tries += 1) {
    await pause(500);
    xdotool(display, 'mousemove', ...ALLOW_AGAIN, 'click', '1');
  }
}

/**
 * Leaves the dialog `title` without an answer.
 * @param {string} display
 * @param {string} title
 */
export async function leave(display, title) {
  await findDialog(display, title);
  xdotool(display, 'key', 'Escape');
}
