// What the command says of a failure: the package's sentence, and the option that helps.

import type { ErrorKind } from '../errors.js';

/** Hand over what an image needs. */
export const WITH = '--with FILE';
export const PASSWORD_FILE = '--password-file FILE';

/** The option that does what sentences of a kind ask for at their end. */
const OPTIONS: { kind?: ErrorKind; end: RegExp; option: string }[] = [
  { kind: 'missing-file', end: /$/, option: WITH },
  { kind: 'password', end: /give its password$/, option: PASSWORD_FILE },
  { kind: 'password', end: /to be assumed right$/, option: '--assume-password' },
  // Raw disks are read, but never guessed.
  { kind: 'not-recognised', end: /\braw$/, option: '-f raw' },
  { end: /with resume to go on$/, option: '--resume' },
];

export function failureText({ kind, message }: { kind: ErrorKind; message: string }): string {
  const told = kind === 'cancelled' ? message.replace(/^.*? was cancelled/, 'interrupted') : message;
  const helps = OPTIONS.find((one) => (one.kind ?? kind) === kind && one.end.test(message));
  return helps ? `${told} (${helps.option})` : told;
}
