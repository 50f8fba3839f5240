// Limits of a disk.

import { Refusal } from './refusal.js';

/** In bytes. */
const LARGEST = 64 * 2 ** 30;

/** Refuses an invalid name or size. */
export function checkDisk(name, size) {
  if (typeof name !== 'string' || !/^\w[\w .-]{0,98}\w$/.test(name)) {
    throw new Refusal(400, 'A disk has a name of letters, digits, spaces, dots and dashes');
  }
  if (!Number.isSafeInteger(size) || size <= 0 || size > LARGEST) {
    throw new Refusal(400, 'Disks of this size are not taken');
  }
}
