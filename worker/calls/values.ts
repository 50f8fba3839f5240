// Checks of callers' values, which may be anything, despite their types.

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether `value` is a platform object of class `name`, also of another window. */
export const isOf = <T>(value: unknown, name: string): value is T =>
  Object.prototype.toString.call(value) === `[object ${name}]`;

export const isStream = (value: unknown): value is WritableStream<Uint8Array> =>
  isObject(value) && 'getWriter' in value && typeof value.getWriter === 'function';
