// Telling a person who looks at something else that a conversion has ended.

/** In seconds: who waits no longer than this looks at the page. */
const LONG = 10;

/** Whether the person can be asked for the permission: not yet allowed, and not refused. */
export const canAskToNotify = (): boolean =>
  isSecureContext && 'Notification' in globalThis && Notification.permission === 'default';

/** Asks the person for the permission; resolves to whether it is refused. */
export async function askToNotify(): Promise<boolean> {
  return (await Notification.requestPermission()) === 'denied';
}

/** Tells that what took `seconds` has ended, if it took long, nobody looks, and the person has allowed it. */
export function notify(title: string, body: string, seconds: number): void {
  const isAllowed = 'Notification' in globalThis && Notification.permission === 'granted';
  if (!isAllowed || !document.hidden || seconds < LONG) return;
  try {
    const notification = new Notification(title, { body });
    notification.addEventListener('click', () => window.focus());
  } catch {
    // Browsers of phones have the class, and throw: only their service workers may notify.
  }
}
