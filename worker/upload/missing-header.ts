// Answers that lack what a protocol needs: perhaps not from its server, or not all of it is shown to a page.

import { isNode } from './is-node.js';

/** Who may have answered otherwise than the protocol says. */
export const OTHER_SENDER = 'another kind of server, or the sign-in page of a network, may have answered';

/** Says of a server that its answer of `status` has no header `name`. */
export function lacksHeader(status: number, name: string): string {
  const lacks = `its answer (${status}) has no ${name}`;
  return isNode()
    ? `${lacks}; ${OTHER_SENDER}`
    : `${lacks}, or this page does not see it: CORS rules have to expose ${name}`;
}
