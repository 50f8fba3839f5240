// What callers hand over, which may be anything, whatever the types say.

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const isStream = (value: unknown): value is WritableStream<Uint8Array> =>
  isObject(value) && 'getWriter' in value && typeof value.getWriter === 'function';
