// qemu-img, which makes most test images.

import { execFileSync } from 'node:child_process';
import { withLibrary } from './preload.js';

export const qemuImg = (...args: string[]): string => execFileSync('qemu-img', args, { encoding: 'utf8' });

const CLOCK = new URL('../../crate/tests/common/clock.c', import.meta.url);

/**
 * qemu-img for making LUKS headers. It measures how many iterations of a hash take a certain time, for a second or two,
 * and fails now and then: here, time passes as soon as it looks.
 */
export function qemuImgLuks(...args: string[]): void {
  execFileSync('qemu-img', args, { stdio: ['ignore', 'ignore', 'pipe'], env: withLibrary(CLOCK) });
}
