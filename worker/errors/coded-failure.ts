// Failures that become the cause of a `DecantError`.

import type { DecantErrorOptions, Fields } from './errors.js';

/** A failure with a code and fields for programs: docs/errors.md lists them. */
export abstract class CodedFailure extends Error {
  abstract readonly code: string;
  abstract readonly fields: Fields;
}

/** Options for a `DecantError` caused by `thrown`, with its code and fields. */
export function errorOptionsOf(thrown: unknown): DecantErrorOptions {
  if (!(thrown instanceof CodedFailure)) return { cause: thrown };
  const { code, fields } = thrown;
  return { code, fields, cause: thrown };
}
