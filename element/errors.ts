// Turns what was thrown into an error or a message.

import { DecantError } from 'decant';

export const asError = (thrown: unknown): DecantError =>
  thrown instanceof DecantError ? thrown : new DecantError('internal', String(thrown));

/** The message of what the page's code has thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error && thrown.message) || String(thrown);
