// Opens an image inside a compressed file without unpacking the file: by its units, or in memory if it is small.

import type { ImageSetup } from '../../client-side/image-session.js';
import { ImageSessions } from '../../client-side/image-sessions.js';
import type { LayerPasswords } from '../../client-side/layer-passwords.js';
import { DecantError } from '../../errors/errors.js';
import type { OpenOptions } from '../../public/caller-types.js';
import { withListener } from '../guarded-listener.js';
import { ignoreManifest, type Unpacked } from '../unpacking.js';
import { findContent } from './find-content.js';
import { InPlaceSource } from './in-place-source.js';
import { isReadable, packedFile } from './packed-file.js';
import { UnitDecoder } from './unit-decoder.js';

/**
 * Opens the image of `setup`, which was refused with `refusal`, code `needs-spool`. Fails with it if the content of the file cannot
 * be read at any position; it has the field `size` then, if the size of the content is known.
 */
export async function openInPlace(
  setup: ImageSetup,
  passwords: LayerPasswords,
  { signal, assumePassword = false, onProgress }: OpenOptions,
  refusal: DecantError,
): Promise<Unpacked> {
  const { sources } = setup;
  const { image } = sources;
  // The core joins the parts of a split file.
  if (sources.isJoined || !isReadable(image)) throw refusal;
  const decoder = new UnitDecoder(setup.starter, setup.workers);
  const listener = (fraction: number) => onProgress?.({ ...NOTHING_DONE, phase: 'measuring', fraction });
  const found = await withListener(signal, listener, (signal, measured) =>
    findContent(packedFile(image, signal), decoder, measured),
  );
  if (!found?.index) throw withSize(refusal, found?.size);
  const content = new InPlaceSource(packedFile(image), found.index, decoder, found.first);
  await sources.replaceImage({
    spec: { custom: content, size: content.size },
    identity: content,
    name: undefined,
    size: content.size,
    verify: async () => {},
    close: () => content.close(),
  });
  ignoreManifest(setup);
  const sessions = await ImageSessions.open(setup, passwords, assumePassword, signal);
  return { sessions, containers: [{ name: found.index.container }], members: [], content };
}

/** The progress of an opening, of whose disk nothing is read yet. */
const NOTHING_DONE = { unlocked: 0, guestDone: 0, dataDone: 0, bytesRead: 0, bytesWritten: 0, bytesPerSecond: 0 };

const withSize = ({ kind, code, fields, message }: DecantError, size: number | undefined): DecantError =>
  new DecantError(kind, message, { code, fields: size === undefined ? fields : { ...fields, size } });
