// Bounds the requests in flight.

export class InFlight {
  readonly #underWay = new Set<Promise<void>>();
  #failure: { thrown: unknown } | undefined;

  constructor(public most: number) {}

  /** Starts `work` when fewer than `most` are in flight. Fails, without starting it, once earlier work has failed. */
  async start(work: () => Promise<void>): Promise<void> {
    while (this.#underWay.size >= this.most) await Promise.race(this.#underWay);
    this.#check();
    const running = work()
      .catch((thrown) => {
        this.#failure ??= { thrown };
      })
      .finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  /** Resolves when all work has succeeded. */
  async finish(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#check();
  }

  #check(): void {
    if (this.#failure) throw this.#failure.thrown;
  }
}
