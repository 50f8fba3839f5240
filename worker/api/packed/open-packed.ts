// Opens an image whose file must be unpacked, or is read in place.

import type { ImageSetup } from '../../client-side/image-session.js';
import type { ImageSessions } from '../../client-side/image-sessions.js';
import type { LayerPasswords } from '../../client-side/layer-passwords.js';
import { DecantError } from '../../errors/errors.js';
import type { OpenOptions } from '../../public/caller-types.js';
import type { Platform } from '../platform.js';
import { openUnpacked, type Unpacked } from '../unpacking.js';
import { openInPlace } from './open-in-place.js';

/** `opened`: the packed file, if it may be unpacked, or why it was refused. Fails as both ways do. */
export function openPacked(
  platform: Platform,
  setup: ImageSetup,
  opened: ImageSessions | DecantError,
  passwords: LayerPasswords,
  options: OpenOptions,
): Promise<Unpacked> {
  if (opened instanceof DecantError) return openInPlace(setup, passwords, options, opened);
  return openUnpacked(platform, setup, opened, passwords, options);
}
