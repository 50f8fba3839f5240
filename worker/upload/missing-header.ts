// Responses without a required header: they may come from another server, or CORS may hide the header.

import { isNode } from './is-node.js';

/** Explains a response that does not follow the protocol. */
export const OTHER_SENDER = 'another kind of server, or the sign-in page of a network, may have answered';

/** Explains that a response of `status` has no header `name`. */
export function lacksHeader(status: number, name: string): string {
  const lacks = `its response (${status}) has no ${name}`;
  return isNode()
    ? `${lacks}; ${OTHER_SENDER}`
    : `${lacks}, or the browser hides it: the CORS rules must expose ${name}`;
}
