// The calls that a page may make. All others are refused.

import { isAbsolute } from 'node:path';
import { isHome } from './pages.js';

const isText = (value) => typeof value === 'string' && value !== '' && value.length <= 4096;
const isPath = (value) => isText(value) && isAbsolute(value);
const isPaths = (value) => Array.isArray(value) && value.length > 0 && value.length <= 1000 && value.every(isPath);

/** By name: a check for each argument, and the handler. */
const CALLS = {
  'choose-image': { checks: [], run: (session) => session.chooseImage() },
  'open-image': { checks: [isPath], run: (session, path) => session.openImage(path) },
  'choose-companions': { checks: [], run: (session) => session.chooseCompanions() },
  'add-companions': { checks: [isPaths], run: (session, paths) => session.addCompanions(paths) },
  'give-password': { checks: [isText], run: (session, password) => session.givePassword(password) },
  'choose-output': { checks: [isText], run: (session, format) => session.chooseOutput(format) },
  convert: { checks: [], run: (session) => session.convert() },
  cancel: { checks: [], run: (session) => session.cancel() },
};

export const NAMES = Object.keys(CALLS);

/** Only the page itself may call, not a frame in it or another page. */
function isOwn({ senderFrame, sender }) {
  // A destroyed frame is null.
  return senderFrame !== null && senderFrame === sender.mainFrame && isHome(senderFrame.url);
}

/** Handles a call from the page of `session`. */
export async function answer(name, session, event, values) {
  if (!isOwn(event)) throw new Error('Not from the page of this application');
  const { checks, run } = CALLS[name];
  const right = values.length === checks.length && checks.every((check, at) => check(values[at]));
  if (!right) throw new Error(`Wrong arguments for '${name}'`);
  return run(session, ...values);
}
