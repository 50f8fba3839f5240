// Loops that might otherwise run without a pause.

/** Lets timers and other events run. */
export const nextTask = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve));
