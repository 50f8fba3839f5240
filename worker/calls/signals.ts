// Abort signals that follow others.

const followed = new WeakMap<AbortSignal, AbortSignal[]>();

/** Like `AbortSignal.any`, but keeps `signals` reachable: Node 20 may collect a time-out that nothing else references. */
export function anyOf(signals: AbortSignal[]): AbortSignal {
  const any = AbortSignal.any(signals);
  followed.set(any, signals);
  return any;
}
