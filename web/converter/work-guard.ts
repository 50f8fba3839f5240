// While work goes on: the tab asks before it closes, the screen stays awake, other tabs can see it.

/** Begins to guard; the returned function ends it. `lock` is what other tabs see. */
export function guardWork(lock: string): () => void {
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener('beforeunload', ask);
  const awake = keepAwake();
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  navigator.locks.request(lock, { mode: 'shared' }, () => done).catch(() => {});
  return () => {
    removeEventListener('beforeunload', ask);
    awake();
    release();
  };
}

/** A hidden tab loses its wake lock, so it asks again when it is seen. */
function keepAwake(): () => void {
  let ended = false;
  let sentinel: WakeLockSentinel | undefined;
  const request = async () => {
    if (document.visibilityState !== 'visible') return;
    // Refused on low battery, for instance; the work goes on without.
    sentinel = await navigator.wakeLock?.request('screen').catch(() => undefined);
    if (ended) await sentinel?.release();
  };
  document.addEventListener('visibilitychange', request);
  void request();
  return () => {
    ended = true;
    document.removeEventListener('visibilitychange', request);
    void sentinel?.release();
  };
}
