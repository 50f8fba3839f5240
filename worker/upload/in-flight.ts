// Requests under way at once.

export class InFlight {
  readonly #underWay = new Set<Promise<void>>();
  #failure: { thrown: unknown } | undefined;

  /** At most `most` at once. */
  constructor(public most: number) {}

  /** Begins `work` once there is room for it. Fails as what has failed before, and begins nothing then. */
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

  /** Resolves when all that was begun has succeeded. */
  async finish(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#check();
  }

  #check(): void {
    if (this.#failure) throw this.#failure.thrown;
  }
}
