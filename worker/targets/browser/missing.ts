// What a browser throws for a file that is not there, and for others that are not to be had.

export const isNamed = (thrown: unknown, name: string): boolean =>
  thrown instanceof DOMException && thrown.name === name;

export const isMissing = (thrown: unknown): boolean => isNamed(thrown, 'NotFoundError');

/** Returns where the file is not there; anything else is thrown again. */
export function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}
