// Clean-up that outlives a command.

const pending = new Set<Promise<unknown>>();

/** Keeps the process until `work` settles. */
export function awaitBeforeExit(work: Promise<unknown>): void {
  pending.add(work);
}

/** Resolves when all clean-up has settled. */
export async function cleanUpDone(): Promise<void> {
  await Promise.allSettled(pending);
}
