// What fails, as a person sees it.

import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';

const { DecantError } = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;

/** The kind and the message of what `work` fails with, or 'nothing failed'. Another error than one of the package is thrown. */
export const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (thrown: unknown) => {
      if (!DecantError.is(thrown)) throw thrown;
      return `${thrown.kind}: ${thrown.message}`;
    },
  );
