// Notifications at the end of a conversion, for a person in another tab or program.

/** In seconds. During shorter conversions, people keep looking at the page. */
const LONG = 10;

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
  if (!isAllowed || !document.hidden || seconds < LONG) return undefined;
  try {
    const notification = new Notification(title, { body });
    notification.addEventListener('click', () => window.focus());
    return notification;
  } catch {
    // Browsers on phones have the class but throw: there only service workers may notify.
    return undefined;
  }
}
