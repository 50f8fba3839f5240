// Opens a stream of the caller's as the image.

import { type RemoteStream, StreamReader } from './custom-stream.js';
import type { OpenedSource } from './opened-source.js';

/** Fails with `usage` where the stream is read by somebody else. */
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
