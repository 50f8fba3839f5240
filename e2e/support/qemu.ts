// qemu-img, which makes most test images.

import { execFileSync } from 'node:child_process';

export const qemuImg = (...args: string[]): string => execFileSync('qemu-img', args, { encoding: 'utf8' });

/** Runs qemu-img; making a LUKS header fails now and then for want of an accurate clock. */
export function qemuImgLuks(...args: string[]): void {
  for (let attempt = 0; ; attempt += 1) {
    try {
      execFileSync('qemu-img', args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
      return;
    } catch (thrown) {
      if (attempt === 99 || !String((thrown as { stderr: string }).stderr).includes('CPU usage')) throw thrown;
    }
  }
}
