// Recognises URLs of servers.

const HTTP = /^https?:\/\//i;

/** Whether `value` is an http or https URL. */
export const isHttp = (value: unknown): value is string | URL =>
  (typeof value === 'string' && HTTP.test(value)) || (value instanceof URL && HTTP.test(value.href));

/** Whether both are http or https URLs, of one server. */
export const haveSameOrigin = (one: unknown, other: unknown): boolean =>
  isHttp(one) && isHttp(other) && originOf(one) === originOf(other);

/** `undefined` for an invalid URL. */
const originOf = (url: string | URL): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined);
