// Errors and messages of thrown values.

import { DecantError } from 'decant';

export const asError = (thrown: unknown): DecantError =>
  thrown instanceof DecantError ? thrown : new DecantError('internal', String(thrown));

/** The message of a value that code of the page has thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error && thrown.message) || String(thrown);
