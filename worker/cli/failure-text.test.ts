// An error ends with the option that helps, if any.

import { expect, test } from 'vitest';
import { DecantError, type ErrorKind, type Fields } from '../errors/errors.js';
import { failureText } from './failure-text.js';

const kept = { reason: 'a', left: 'it is kept', kept: true };
for (const [kind, code, fields, text] of [
  ['missing-file', 'missing-file', {}, 'a (--with FILE)'],
  ['password', 'password-needed', {}, 'a (--password-file FILE)'],
  ['password', 'password-unconfirmed', {}, 'a (--assume-password)'],
  ['password', 'password-wrong', {}, 'a'],
  ['not-recognised', 'state-format', { format: 'raw' }, 'a (-f raw)'],
  ['not-recognised', 'not-recognised', {}, 'a'],
  ['usage', 'ambiguous-format', { format: 'qcow2', otherFormat: 'vpc' }, 'a (-f qcow2 or -f vpc)'],
  ['usage', 'ambiguous-format', { format: 'vpc', container: 'tar' }, 'a (-f vpc)'],
  ['usage', 'ambiguous-format', { format: 'qcow2', otherFormat: 'vpc', file: 'b' }, 'a'],
  ['target', 'target', kept, 'a (--resume)'],
  ['source', 'source', kept, 'a (--resume)'],
  ['target', 'target', { reason: 'a', left: 'a file stays' }, 'a'],
  ['cancelled', 'cancelled', {}, 'interrupted'],
  ['cancelled', 'cancelled', { reason: 'a', left: 'a file stays' }, 'interrupted; a file stays'],
  ['cancelled', 'cancelled', kept, 'interrupted; it is kept (--resume)'],
] satisfies [ErrorKind, string, Fields, string][]) {
  test(`${kind} ${code} ${JSON.stringify(fields)}`, () => {
    expect(failureText(new DecantError(kind, 'a', { code, fields }))).toBe(text);
  });
}
