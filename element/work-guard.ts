// While the page converts, the tab asks before it closes, the screen stays awake, and other tabs know.

/** The name of the Web Lock that is held meanwhile. */
const BUSY = 'decant:busy';

/** Whether another tab converts. */
export async function isOtherTabBusy(): Promise<boolean> {
  try {
    const { held = [] } = await navigator.locks.query();
    return held.some((lock) => lock.name === BUSY);
  } catch {
    // A page may be denied locks. Then it cannot know.
    return false;
  }
}

/** Begins to guard. The returned function ends it. */
export function guardWork(): () => void {
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener('beforeunload', ask);
  const awake = keepAwake();
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  // It rejects if a page is denied locks. Then other tabs do not know, and the conversion goes on.
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
    // Refused on low battery, for instance. The conversion goes on without.
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
