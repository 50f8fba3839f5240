// What is still being cleaned up when a command has ended.

const leaving = new Set<Promise<unknown>>();

/** The process stays until `work` has settled, however it does. */
export function leave(work: Promise<unknown>): void {
  leaving.add(work);
}

/** Resolves when everything has settled. */
export async function left(): Promise<void> {
  await Promise.allSettled(leaving);
}
