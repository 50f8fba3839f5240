// Lends custom sources and streams to a coordinator, which reads them through ports.

import { DecantError, type PlainError, toPlain } from '../errors/errors.js';
import type { SourceReply, SourceRequest } from '../messages/messages.js';
import type { Source } from '../public/types.js';
import { readCustomSource } from './custom-source.js';
import type { RemoteStream, StreamReader } from './custom-stream.js';
import { Expectations } from './expectations.js';
import { Loan } from './loan.js';

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
    const receive = async (asked: SourceRequest) => {
      if ('givenUp' in asked) reads.get(asked.givenUp)?.abort();
      else if ('id' in asked) await this.#answer(read, port1, reads, asked);
      else if (!this.#cancelled) expect(asked.reader, asked.expected);
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
