// Failures, as a user sees them.

import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';

const { DecantError } = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

/** The kind and the message of the error of `work`, or 'nothing failed'. Errors that are not from the package are rethrown. */
export const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (thrown: unknown) => {
      if (!DecantError.is(thrown)) throw thrown;
      return `${thrown.kind}: ${thrown.message}`;
    },
  );
