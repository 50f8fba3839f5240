// A failure ends with the option that helps, where one does.

import { expect, test } from 'vitest';
import type { ErrorKind } from '../errors.js';
import { failureText } from './failure.js';

for (const [kind, message, text] of [
  ['missing-file', "'a' is missing; hand it over", "'a' is missing; hand it over (--with FILE)"],
  ['password', "'a' is encrypted; give its password", "'a' is encrypted; give its password (--password-file FILE)"],
  ['password', 'say that it is to be assumed right', 'say that it is to be assumed right (--assume-password)'],
  ['password', 'The password is wrong', 'The password is wrong'],
  ['not-recognised', 'state the format raw', 'state the format raw (-f raw)'],
  ['not-recognised', 'it reads qcow2, raw', 'it reads qcow2, raw (-f raw)'],
  ['not-recognised', 'The file is empty', 'The file is empty'],
  ['not-recognised', 'no draw', 'no draw'],
  // Only where the sentence is of that kind.
  ['corrupt', 'give its password', 'give its password'],
  ['usage', 'state the format raw', 'state the format raw'],
  ['sink', 'convert again with resume to go on', 'convert again with resume to go on (--resume)'],
  ['source', 'convert again with resume to go on', 'convert again with resume to go on (--resume)'],
  ['cancelled', 'The conversion was cancelled', 'interrupted'],
  ['cancelled', 'The operation was cancelled; more', 'interrupted; more'],
  [
    'cancelled',
    'The conversion was cancelled; convert again with resume to go on',
    'interrupted; convert again with resume to go on (--resume)',
  ],
  ['internal', 'it was cancelled', 'it was cancelled'],
] satisfies [ErrorKind, string, string][]) {
  test(`${kind}: ${message}`, () => expect(failureText({ kind, message })).toBe(text));
}
