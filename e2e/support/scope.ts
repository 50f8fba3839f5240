// How much of the tests runs. A test without a tag runs in all three; `@full` and `@long` say where a test begins to run.

export const SCOPES = ['short', 'full', 'long'] as const;
export type Scope = (typeof SCOPES)[number];

const given = process.env.DECANT_TESTS ?? 'short';
if (!SCOPES.includes(given as Scope)) throw new Error(`DECANT_TESTS is '${given}', not one of ${SCOPES.join(', ')}`);

/** `short` is what `npm test` runs, `full` what `npm run test:full` does, `long` what `npm run test:long` does. */
export const scope = given as Scope;

/** Returns the value for this scope: what `full` does not state is that of `short`, and `long` that of `full`. */
export function byScope<T>({ short, full = short, long = full }: { short: T; full?: T; long?: T }): T {
  return { short, full, long }[scope];
}

/** The tags of tests that this scope leaves out. */
export const leftOut = { short: /@full|@long/, full: /@long/, long: /$^/ }[scope];
