// What a browser throws for a file that is not there.

export const isMissing = (thrown: unknown): boolean =>
  thrown instanceof DOMException && thrown.name === 'NotFoundError';

/** Returns where the file is not there; anything else is thrown again. */
export function unlessMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown;
}
