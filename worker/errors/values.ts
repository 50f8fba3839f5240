// Values: the kind of one that a caller passes, which may be anything, and bytes as text and as one array.

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether `value` is a platform object of class `name`, also of another window. */
export const isOf = <T>(value: unknown, name: string): value is T =>
  Object.prototype.toString.call(value) === `[object ${name}]`;

export const isBytes = (value: unknown): value is Uint8Array<ArrayBuffer> | ArrayBuffer =>
  isOf(value, 'Uint8Array') || isOf(value, 'ArrayBuffer');

export const isStream = (value: unknown): value is WritableStream<Uint8Array> =>
  isObject(value) && 'getWriter' in value && typeof value.getWriter === 'function';

/** Two lower-case digits for each byte. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

export function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The entries of `values` that are not undefined. */
export const definedOf = (values: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** Freezes plain data, with all that is in it. */
export function frozen<T>(data: T): T {
  if (!isObject(data) || Object.isFrozen(data)) return data;
  Object.values(data).forEach(frozen);
  return Object.freeze(data);
}
