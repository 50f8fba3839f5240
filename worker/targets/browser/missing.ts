// Recognises exceptions of browsers for missing or unavailable files.

export const isNamed = (thrown: unknown, name: string): boolean =>
  thrown instanceof DOMException && thrown.name === name;

export const isMissing = (thrown: unknown): boolean => isNamed(thrown, 'NotFoundError');

/** Returns undefined for the exception of a missing file, and rethrows any other. */
export function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}
