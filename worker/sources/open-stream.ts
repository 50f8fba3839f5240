// Opens a stream as the image.

import { type RemoteStream, StreamReader } from './custom-stream.js';
import type { OpenedSource } from './opened-source.js';

/** Opens `stream` and locks it. Throws `usage` if it is locked already. */
export function openStream(stream: ReadableStream<Uint8Array>, remote?: RemoteStream): OpenedSource {
  const reader = new StreamReader(stream, remote);
  return {
    spec: { stream: reader },
    identity: stream,
    name: undefined,
    size: undefined,
    verify: async () => {},
    close: () => reader.close(),
  };
}
