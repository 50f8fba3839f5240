// While work goes on: the tab asks before it closes, the screen stays awake, other tabs can see it.

/** What other tabs see. */
const BUSY = 'decant:busy';

/** Whether work goes on in another tab. */
export async function isOtherTabBusy(): Promise<boolean> {
  try {
    const { held = [] } = await navigator.locks.query();
    return held.some((lock) => lock.name === BUSY);
  } catch {
    // Locks may be forbidden to a page: then it stands alone.
    return false;
  }
}

/** Begins to guard; the returned function ends it. */
export function guardWork(): () => void {
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener('beforeunload', ask);
  const awake = keepAwake();
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  navigator.locks.request(BUSY, { mode: 'shared' }, () => done).catch(() => {});
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
