// Pool workers, seen from a coordinator, that decode parts of a compressed file that is read in place.

import { DecantError } from '../errors/errors.js';
import { PARTS_BEGIN, PARTS_END, PARTS_WORKER } from '../messages/messages.js';
import { Dispatcher } from './dispatcher.js';
import type { Report } from './wasm.js';

/** Workers that are borrowed from the calling side as long as they have parts. */
interface BorrowedWorkers {
  number: number;
  dispatcher: Promise<Dispatcher>;
  give(dispatcher: Dispatcher): void;
  refuse(error: DecantError): void;
  /** The number of parts that they have, or that wait for them. */
  parts: number;
}

export class PartWorkers {
  #nextNumber = 0;
  #borrowed: BorrowedWorkers | undefined;

  constructor(private readonly report: Report) {}

  /** Runs `task`, which decodes `part`, and takes the memory of `part`. Fails as the crate does, and with `internal` if the workers end. */
  async run(task: Uint8Array, part: Uint8Array<ArrayBuffer>[]): Promise<unknown> {
    this.#borrowed ??= this.#borrow();
    const borrowed = this.#borrowed;
    borrowed.parts += 1;
    try {
      return await (await borrowed.dispatcher).run(task, part);
    } finally {
      borrowed.parts -= 1;
      if (borrowed.parts === 0) await this.#giveBack(borrowed);
    }
  }

  /** The calling side's answer: the ports of the workers. */
  lend(number: number, ports: MessagePort[]): void {
    if (this.#borrowed?.number !== number) return;
    const dispatcher = new Dispatcher(ports, [], (at) => this.report(PARTS_WORKER, { number, at }));
    dispatcher.attachment = { files: [], keys: undefined, target: undefined };
    this.#borrowed.give(dispatcher);
  }

  /** The workers have ended, or could not be lent: their parts fail with `internal` and `sentence`. Later parts get others. */
  end(number: number, sentence: string): void {
    const borrowed = this.#borrowed;
    if (borrowed?.number !== number) return;
    this.#borrowed = undefined;
    borrowed.refuse(new DecantError('internal', sentence));
    borrowed.dispatcher.then(
      (dispatcher) => dispatcher.fail(sentence),
      () => {},
    );
  }

  #borrow(): BorrowedWorkers {
    const number = this.#nextNumber++;
    const borrowed = { number, parts: 0 } as BorrowedWorkers;
    borrowed.dispatcher = new Promise((give, refuse) => Object.assign(borrowed, { give, refuse }));
    // The users of the workers get the failure.
    borrowed.dispatcher.catch(() => {});
    this.report(PARTS_BEGIN, number);
    return borrowed;
  }

  async #giveBack(borrowed: BorrowedWorkers): Promise<void> {
    if (this.#borrowed === borrowed) this.#borrowed = undefined;
    // Workers that were not lent have no dispatcher.
    const dispatcher = await borrowed.dispatcher.catch(() => undefined);
    dispatcher?.end();
    this.report(PARTS_END, borrowed.number);
  }
}
