// A compressed file that is read from here.

import { cancelled } from '../../errors/errors.js';
import type { Bytes } from '../../public/types.js';
import type { OpenedSource } from '../../sources/opened-source.js';
import { sourceError, unreadable } from '../../sources/source-errors.js';
import { copy } from './in-place-source.js';
import type { PackedFile } from './packed-index.js';

/** Whether `source` can be read at any position from here. */
export const isReadable = ({ spec, peek }: OpenedSource): boolean => 'custom' in spec || peek !== undefined;

/** The compressed file `source`. Reads fail with `cancelled` once `signal` is aborted. */
export function packedFile({ spec, size, peek }: OpenedSource, signal?: AbortSignal): PackedFile {
  const read = async (offset: number, length: number): Promise<Bytes> => {
    if (signal?.aborted) throw cancelled();
    try {
      const [bytes] =
        'custom' in spec
          ? [await copied(await spec.custom.read(offset, length, { signal: signal ?? NEVER }))]
          : await peek!([{ start: offset, end: offset + length }]);
      if (bytes?.length !== length) throw unreadable('the file was truncated while it was read');
      return bytes as Bytes;
    } catch (thrown) {
      throw signal?.aborted ? cancelled() : sourceError(thrown);
    }
  };
  return { size: size!, read, isLocal: peek !== undefined };
}

/** Copies `bytes`: their memory belongs to the caller's source. */
async function copied(bytes: Uint8Array): Promise<Bytes> {
  const copied = new Uint8Array(bytes.length);
  await copy(bytes, copied, 0);
  return copied;
}

const NEVER = new AbortController().signal;
