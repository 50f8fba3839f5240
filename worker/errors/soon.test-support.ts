// Vitest: waits for a state, however long a busy machine takes.

import { vi } from 'vitest';

/** Waits until `check` no longer throws. */
export const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 60_000, interval: 1 });
