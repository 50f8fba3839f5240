// Pool workers, seen from a coordinator, that decode parts of a compressed file that is read in place.

import { DecantError } from '../errors/errors.js';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER } from '../messages/messages.js';
import { Dispatcher } from './dispatcher.js';
import type { Report } from './wasm.js';

/** Workers that the calling side lends as long as they have parts. */
interface Lent {
  number: number;
  dispatcher: Promise<Dispatcher>;
  give(dispatcher: Dispatcher): void;
  refuse(error: DecantError): void;
  /** The number of parts that they have, or that wait for them. */
  parts: number;
}

export class PartWorkers {
  #nextNumber = 0;
  #lent: Lent | undefined;

  constructor(private readonly report: Report) {}

  /** Runs `task`, which decodes `part`, and takes the memory of `part`. Fails as the crate does, and with `internal` if the workers end. */
  async run(task: Uint8Array, part: Uint8Array<ArrayBuffer>[]): Promise<unknown> {
    this.#lent ??= this.#borrow();
    const lent = this.#lent;
    lent.parts += 1;
    try {
      return await (await lent.dispatcher).run(task, part);
    } finally {
      lent.parts -= 1;
      if (lent.parts === 0) await this.#giveBack(lent);
    }
  }

  /** The calling side's answer: the ports of the workers. */
  lend(number: number, ports: MessagePort[]): void {
    if (this.#lent?.number !== number) return;
    const dispatcher = new Dispatcher(ports, [], (at) => this.report(PARTS_WORKER, { number, at }));
    dispatcher.attachment = { files: [], keys: undefined, target: undefined };
    this.#lent.give(dispatcher);
  }

  /** The workers have ended, or are not lent: their parts fail with `internal` and `sentence`. Later parts get others. */
  end(number: number, sentence: string): void {
    const lent = this.#lent;
    if (lent?.number !== number) return;
    this.#lent = undefined;
    lent.refuse(new DecantError('internal', sentence));
    lent.dispatcher.then(
      (dispatcher) => dispatcher.fail(sentence),
      () => {},
    );
  }

  #borrow(): Lent {
    const number = this.#nextNumber++;
    const lent = { number, parts: 0 } as Lent;
    lent.dispatcher = new Promise((give, refuse) => Object.assign(lent, { give, refuse }));
    // The users of the workers get the failure.
    lent.dispatcher.catch(() => {});
    this.report(PARTS_BEGIN, number);
    return lent;
  }

  async #giveBack(lent: Lent): Promise<void> {
    if (this.#lent === lent) this.#lent = undefined;
    // Workers that were not lent have no dispatcher.
    const dispatcher = await lent.dispatcher.catch(() => undefined);
    dispatcher?.end();
    this.report(PARTS_END, lent.number);
  }
}
