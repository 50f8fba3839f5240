// What callers hand over, which may be anything, whatever the types say.

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether `value` is a `name` of the platform's, of this window or of another one. */
export const isOf = <T>(value: unknown, name: string): value is T =>
  Object.prototype.toString.call(value) === `[object ${name}]`;

export const isStream = (value: unknown): value is WritableStream<Uint8Array> =>
  isObject(value) && 'getWriter' in value && typeof value.getWriter === 'function';
