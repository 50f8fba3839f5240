// During a conversion, the tab asks before it closes, the screen stays awake, and other tabs can see that it is busy.

/** The name of the Web Lock that is held during a conversion. */
const BUSY = 'decant:busy';

/** Whether another tab is converting. */
export async function isOtherTabBusy(): Promise<boolean> {
  try {
    const { held = [] } = await navigator.locks.query();
    return held.some((lock) => lock.name === BUSY);
  } catch {
    // A page may be denied locks.
    return false;
  }
}

/** Starts guarding. The returned function ends it. */
export function guardWork(): () => void {
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener('beforeunload', ask);
  const awake = keepAwake();
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  // Rejects if a page is denied locks. Then other tabs do not see the conversion, which continues.
  navigator.locks.request(BUSY, { mode: 'shared' }, () => done).catch(() => {});
  return () => {
    removeEventListener('beforeunload', ask);
    awake();
    release();
  };
}

/**
 * Keeps the screen awake until the returned function is called. A hidden tab loses its wake lock and asks again later.
 */
function keepAwake(): () => void {
  let ended = false;
  let sentinel: WakeLockSentinel | undefined;
  const request = async () => {
    if (document.visibilityState !== 'visible') return;
    // Refused on low battery, for example. The conversion continues without it.
    sentinel = await navigator.wakeLock?.request('screen').catch(() => undefined);
    if (ended) await sentinel?.release();
  };
  const again = () => {
    request().catch(reportError);
  };
  document.addEventListener('visibilitychange', again);
  again();
  return () => {
    ended = true;
    document.removeEventListener('visibilitychange', again);
    sentinel?.release().catch(reportError);
  };
}
