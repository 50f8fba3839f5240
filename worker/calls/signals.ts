// Signals that follow others.

const followed = new WeakMap<AbortSignal, AbortSignal[]>();

/** As `AbortSignal.any`, but keeps what it follows: Node 20 forgets a time-out that nobody else has. */
export function anyOf(signals: AbortSignal[]): AbortSignal {
  const any = AbortSignal.any(signals);
  followed.set(any, signals);
  return any;
}
