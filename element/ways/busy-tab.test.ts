// Notifications at the end of a conversion: only after a long wait, while the page is hidden, and with the permission.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { askToNotify, canAskToNotify, notify } from './busy-tab.js';

const shown: string[] = [];

function stub(permission: NotificationPermission, hidden: boolean, construct = () => {}): void {
  class FakeNotification {
    static permission = permission;
    static requestPermission = vi.fn(async () => 'granted');
    constructor(title: string, { body }: { body: string }) {
      construct();
      shown.push(`${title}: ${body}`);
    }
    addEventListener() {}
  }
  vi.stubGlobal('Notification', FakeNotification);
  vi.stubGlobal('document', { hidden });
  vi.stubGlobal('isSecureContext', true);
}

beforeEach(() => {
  shown.length = 0;
});
afterEach(() => {
  vi.unstubAllGlobals();
});

// (permission, whether the page is hidden, seconds, number of notifications)
for (const [permission, hidden, seconds, times] of [
  ['granted', true, 10, 1],
  ['granted', true, 9.9, 0],
  ['granted', false, 60, 0],
  ['default', true, 60, 0],
  ['denied', true, 60, 0],
] as const) {
  test(`after ${seconds} s, ${hidden ? 'hidden' : 'seen'}, ${permission}: ${times} notifications`, () => {
    stub(permission, hidden);
    expect(notify('Done', 'disk.raw', seconds) !== undefined).toBe(times === 1);
    expect(shown).toEqual(Array(times).fill('Done: disk.raw'));
  });
}

test('a browser that lacks or refuses notifications causes no error', () => {
  expect(notify('Done', 'disk.raw', 60)).toBeUndefined();
  stub('granted', true, () => {
    throw new TypeError('Illegal constructor');
  });
  expect(notify('Done', 'disk.raw', 60)).toBeUndefined();
  expect(shown).toEqual([]);
});

test('the permission can be asked for if it is possible and was not decided yet', async () => {
  stub('default', false);
  expect(canAskToNotify()).toBe(true);
  await askToNotify();
  expect(Notification.requestPermission).toHaveBeenCalledTimes(1);
  vi.stubGlobal('isSecureContext', false);
  expect(canAskToNotify()).toBe(false);
  for (const answered of ['granted', 'denied'] as const) {
    stub(answered, false);
    expect(canAskToNotify()).toBe(false);
  }
});
