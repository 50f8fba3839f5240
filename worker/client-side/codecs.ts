// Loads codecs for workers that ask for them.

import { toPlain } from '../errors/errors.js';
import { CODEC_NEEDED } from '../messages/messages.js';
import type { RpcClient } from '../messages/rpc.js';
import type { Codec } from '../public/types.js';
import type { CodecMethods } from '../worker-side/codec-modules.js';
import type { WorkerStarter } from './starter.js';

/** Answers the requests of the worker behind `client`. */
export function provideCodecs(client: RpcClient<CodecMethods>, starter: WorkerStarter): void {
  client.on(CODEC_NEEDED, (detail) => {
    const name = detail as Codec;
    const answer = starter.codec(name).then(
      (bytes) => client.call('provideCodec', name, bytes),
      (thrown) => client.call('refuseCodec', name, toPlain(thrown)),
    );
    // The worker has ended.
    answer.catch(() => {});
  });
}
