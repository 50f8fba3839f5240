// The tab of a conversion: asks before it closes, keeps the screen awake, shows other tabs that it is busy, and notifies a person
// who looks at another tab or program when the conversion ends.

/** The name of the Web Lock that is held during a conversion. */
const BUSY = 'decant:busy';

/** How many of these locks this tab holds. */
let own = 0;

/** Whether another tab is converting. */
export async function isOtherTabBusy(): Promise<boolean> {
  try {
    const { held = [] } = await navigator.locks.query();
    return held.filter((lock) => lock.name === BUSY).length > own;
  } catch {
    // A page may be denied locks.
    return false;
  }
}

/** Guards a conversion until the returned function is called. */
export function guardWork(): () => void {
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener('beforeunload', ask);
  const awake = keepAwake();
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  // Rejects if a page is denied locks. Then other tabs do not see the conversion, which continues.
  const hold = () => {
    own += 1;
    return done.finally(() => {
      own -= 1;
    });
  };
  navigator.locks.request(BUSY, { mode: 'shared' }, hold).catch(() => {});
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

/** In seconds. During shorter conversions, people keep looking at the page. */
const LONG_WORK = 10;

/** Whether the page may ask for the permission: it is neither granted nor refused. */
export const canAskToNotify = (): boolean =>
  isSecureContext && 'Notification' in globalThis && Notification.permission === 'default';

/** Asks the person for the permission. Resolves to whether it is refused. */
export async function askToNotify(): Promise<boolean> {
  return (await Notification.requestPermission()) === 'denied';
}

/**
 * Shows a notification, and returns it, if the work took long (`seconds`), the page is hidden, and the person has given the
 * permission.
 */
export function notify(title: string, body: string, seconds: number): Notification | undefined {
  const isAllowed = 'Notification' in globalThis && Notification.permission === 'granted';
  if (!isAllowed || !document.hidden || seconds < LONG_WORK) return undefined;
  try {
    const notification = new Notification(title, { body });
    notification.addEventListener('click', () => window.focus());
    return notification;
  } catch {
    // Browsers on phones have the class but throw: there only service workers may notify.
    return undefined;
  }
}
