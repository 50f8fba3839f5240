// Errors that nobody catches, in pages and in their workers.

import { type BrowserContext, expect } from '@playwright/test';

/** Errors that a test throws on purpose say so. */
const PROVOKED = 'by the test';

/** Collects them from now on; the returned function fails where there was one. */
export function watchUnhandled(context: BrowserContext): () => void {
  const messages: string[] = [];
  context.on('weberror', (thrown) => {
    const error = thrown.error();
    if (!error.message.includes(PROVOKED)) messages.push(error.stack ?? error.message);
  });
  return () => expect(messages, 'errors that nobody has caught').toEqual([]);
}
