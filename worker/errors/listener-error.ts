// Failures of listeners of callers, such as `onProgress`.

import { DecantError, reasonOf } from './errors.js';

/** A listener has thrown or rejected. No layer changes its kind. */
export class ListenerError extends DecantError {
  /** `reported` is what the listener reports. */
  constructor(reported: string, cause: unknown) {
    super('usage', `Could not report ${reported}: ${reasonOf(cause)}`, { cause });
  }
}

/** Calls a listener. `fail` gets an error that it throws, or with which it rejects. */
export function callListener(listener: () => unknown, fail: (thrown: unknown) => void): void {
  try {
    // A listener that is declared without a result may be an async function.
    Promise.resolve(listener()).catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}
