// What is still being cleaned up when a command has ended.

const pending = new Set<Promise<unknown>>();

/** The process stays until `work` has settled, however it does. */
export function awaitBeforeExit(work: Promise<unknown>): void {
  pending.add(work);
}

/** Resolves when everything has settled. */
export async function cleanUpDone(): Promise<void> {
  await Promise.allSettled(pending);
}
