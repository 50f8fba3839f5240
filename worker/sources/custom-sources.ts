// Custom sources and streams, which are called on the calling side: how they are opened, and lent to a coordinator, which reads them through ports.

import { shownValue } from '../errors/argument-checks.js';
import { cancelled, DecantError, orCancelled, type PlainError, toPlain } from '../errors/errors.js';
import { isOf } from '../errors/values.js';
import type { SourceReply, SourceRequest } from '../messages/messages.js';
import type { Network, Source } from '../public/types.js';
import { checkedNetwork } from './checked-network.js';
import { type RemoteStream, SequentialFile, StreamReader } from './custom-stream.js';
import { Expectations } from './expectations.js';
import { Loan, type OpenedSource } from './opened-source.js';
import { orSourceError, sourceError, unreadable } from './source-errors.js';

/** Whether reads are announced to `source`. */
export const expects = (source: Source): boolean => orSourceError(() => typeof source.expect === 'function');

/** Opens `source`. Throws `usage` for an invalid property. */
export function openCustomSource(source: Source): OpenedSource {
  if (source instanceof SequentialFile) return openSequential(source);
  const { size, name, unnoticed, state, verifies } = propertiesOf(source);
  if (!Number.isSafeInteger(size) || (size as number) < 0) {
    throw new DecantError(
      'usage',
      `The size of a source must be a whole number of bytes from 0 to 2^53-1, not ${shownValue(size)}`,
    );
  }
  if (name !== undefined && typeof name !== 'string') {
    throw new DecantError('usage', 'The name of a source must be a string');
  }
  if (unnoticed !== undefined && typeof unnoticed !== 'string') {
    throw new DecantError('usage', "A source's 'unnoticed' must be a string");
  }
  if (state !== undefined && typeof state !== 'string') {
    throw new DecantError('usage', "A source's 'state' must be a string");
  }
  return {
    spec: { custom: source, size: size as number },
    state,
    identity: source,
    name,
    size: size as number,
    // A getter: the value may change until a conversion ends.
    get unnoticed() {
      return orSourceError(() => source.unnoticed);
    },
    verify: async () => {
      if (orSourceError(() => source.state) !== state)
        throw unreadable('the file was changed while it was read; open it again', { code: 'source-changed' });
    },
    ...(verifies ? { confirm: (signal) => confirm(source, signal) } : {}),
    close: async () => {},
  };
}

const propertiesOf = (
  source: Source,
): { size: unknown; name: unknown; unnoticed: unknown; state: string | undefined; verifies: boolean } =>
  orSourceError(() => {
    const { size, name, unnoticed, state } = source;
    // A failure is reported now, not at the first read.
    void source.expect;
    return { size, name, unnoticed, state, verifies: typeof source.verify === 'function' };
  });

/** The traffic of `source` so far, if it is on a network. Throws `source` if that cannot be read, or is invalid. */
export const networkOf = (source: Source): Network | undefined => orSourceError(() => checkedNetwork(source.network));

async function confirm(source: Source, signal: AbortSignal): Promise<void> {
  try {
    await orCancelled(signal, (async () => source.verify?.({ signal }))());
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw sourceError(thrown);
  }
}

/**
 * Reads exactly `length` bytes of `source` at `offset`. Fails with `source` if it throws or returns something else, and with
 * `cancelled` as soon as `signal` is aborted, without waiting for the source.
 */
export async function readCustomSource(
  source: Source,
  offset: number,
  length: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  if (signal.aborted) throw cancelled();
  let given: unknown;
  try {
    // The async wrapper makes a synchronous throw a rejection.
    const reading = (async () => source.read(offset, length, { signal }))();
    given = await orCancelled(signal, reading);
  } catch (thrown) {
    if (signal.aborted) throw cancelled();
    throw sourceError(thrown);
  }
  if (!ArrayBuffer.isView(given) || !isOf<Uint8Array<ArrayBuffer>>(given, 'Uint8Array')) {
    throw unreadable(`its source did not return a Uint8Array for ${length} bytes at byte ${offset}`);
  }
  if (given.length !== length) {
    // Returned buffers are transferred: an array that is returned twice is empty the second time.
    const advice = given.length === 0 ? '; it must return a copy of an array that it keeps' : '';
    throw unreadable(`its source returned ${given.length} bytes instead of ${length} at byte ${offset}${advice}`);
  }
  return given;
}

/** Opens the stream of `file`. Throws `usage` if it was opened before. */
export function openSequential(file: SequentialFile): OpenedSource {
  const { unnoticed, name } = file;
  return { ...openStream(file.stream, file), name, ...(unnoticed === undefined ? {} : { unnoticed }) };
}

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

/** Reads a range in bytes. */
type ReadFunction = (offset: number, length: number, signal: AbortSignal) => Promise<Uint8Array<ArrayBuffer>>;

/** How many failures are kept to explain errors. */
const KEPT = 16;
/** The field of an error with the number of its failure. `explain` removes it. */
const FAILURE = 'failureOfRead';

/** A loan with custom sources or streams among the files. */
export class CustomLoan extends Loan {
  readonly #ours: MessagePort[] = [];
  readonly #expectations: Expectations[] = [];
  /** The reads under way for each port, by number. */
  readonly #reads: Map<number, AbortController>[] = [];
  #cancelled = false;
  /** The server that sends the stream, if there is one. */
  #remote: RemoteStream | undefined;
  /** The last failures by number: errors of a coordinator arrive without their cause. */
  readonly #failures = new Map<number, DecantError>();
  #failed = 0;

  /** Returns a port through which a coordinator reads `source`. */
  lend(source: Source): MessagePort {
    const expectations = new Expectations(source);
    this.#expectations.push(expectations);
    const read: ReadFunction = (offset, length, signal) => {
      expectations.read(offset, length);
      return readCustomSource(source, offset, length, signal);
    };
    return this.#lend(read, (reader, expected) => expectations.announce(reader, rangesOf(expected)));
  }

  /** Returns a port through which a coordinator reads `stream` in order. A read may return fewer bytes at the end. */
  lendStream(stream: StreamReader): MessagePort {
    this.#remote = stream.remote;
    return this.#lend((offset, length, signal) => stream.read(offset, length, signal));
  }

  #lend(read: ReadFunction, expect: (reader: number, expected: Float64Array) => void = () => {}): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const reads = new Map<number, AbortController>();
    this.#reads.push(reads);
    const receive = async (request: SourceRequest) => {
      if ('givenUp' in request) reads.get(request.givenUp)?.abort();
      else if ('id' in request) await this.#answer(read, port1, reads, request);
      else if (!this.#cancelled) expect(request.reader, request.expected);
    };
    port1.onmessage = ({ data }) => receive(data as SourceRequest);
    this.#ours.push(port1);
    this.ports.push(port2);
    return port2;
  }

  override cancel(): void {
    this.#cancelled = true;
    for (const reads of this.#reads) for (const read of reads.values()) read.abort();
    for (const expectations of this.#expectations) expectations.end();
  }

  override end(): void {
    this.cancel();
    for (const port of this.#ours) port.close();
  }

  /** Adds to an error of a coordinator the cause that stayed on this side, and what a server does not support. */
  override explain(error: DecantError): DecantError {
    if (error.kind === 'unsupported' && this.#remote) {
      const { shown } = this.#remote;
      const message = `Could not open '${shown}': its server sends only whole files, from start to end. ${error.message}`;
      return new DecantError('unsupported', message, error);
    }
    const { [FAILURE]: number, ...fields } = error.fields;
    if (number === undefined) return error;
    const cause = this.#failures.get(number as number)?.cause;
    const { kind, code, message } = error;
    return new DecantError(kind, message, { code, fields, ...(cause === undefined ? {} : { cause }) });
  }

  async #answer(
    read: ReadFunction,
    port: MessagePort,
    reads: Map<number, AbortController>,
    { id, offset, length }: { id: number; offset: number; length: number },
  ): Promise<void> {
    const ending = new AbortController();
    reads.set(id, ending);
    try {
      if (this.#cancelled) ending.abort();
      move(port, id, await read(offset, length, ending.signal));
    } catch (thrown) {
      const error = thrown instanceof DecantError ? this.#keep(thrown) : toPlain(thrown);
      port.postMessage({ id, error } satisfies SourceReply);
    } finally {
      reads.delete(id);
    }
  }

  /** Returns `failure` as it is posted, with the number by which `explain` finds its cause. */
  #keep(failure: DecantError): PlainError {
    this.#failed += 1;
    this.#failures.set(this.#failed, failure);
    this.#failures.delete(this.#failed - KEPT);
    const plain = toPlain(failure);
    return { ...plain, fields: { ...plain.fields, [FAILURE]: this.#failed } };
  }
}

function rangesOf(expected: Float64Array): { offset: number; length: number }[] {
  const pairs = Array.from({ length: expected.length / 2 }, (_, at) => at * 2);
  return pairs.map((at) => ({ offset: expected[at]!, length: expected[at + 1]! }));
}

/** Transfers `bytes` if they cover their buffer, otherwise a copy: the rest of the buffer belongs to the caller. */
function move(port: MessagePort, id: number, bytes: Uint8Array<ArrayBuffer>): void {
  const post = (moved: Uint8Array<ArrayBuffer>) =>
    port.postMessage({ id, bytes: moved } satisfies SourceReply, [moved.buffer]);
  const isWhole = bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength;
  try {
    post(isWhole ? bytes : new Uint8Array(bytes));
  } catch {
    // Some buffers cannot be transferred, such as the memory of a WebAssembly instance.
    post(new Uint8Array(bytes));
  }
}
