// The main process's end of the process that works.

/** The process has died; what was asked of it is not answered any more. */
const died = (code) => ({
  name: 'DecantError',
  kind: 'internal',
  code: 'internal',
  fields: {},
  message: `The process that converts has ended (code ${code}); open the image again`,
});

export class WorkClient {
  #start;
  #onShare;
  #child;
  /** By the number of a call, what takes the reply. */
  #waiting = new Map();
  #replies = new Set();
  #lastId = 0;

  /** `start` starts the process. `onShare` is told how much of a conversion is done. */
  constructor(start, onShare) {
    this.#start = start;
    this.#onShare = onShare;
  }

  /** Resolves to `{ value }` or `{ error }`. Electron would make a bare sentence of an error that is thrown. */
  request(call, task, ports = []) {
    this.#child ??= this.#started();
    this.#lastId += 1;
    const id = this.#lastId;
    const reply = new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.postMessage({ id, call, task }, ports);
    });
    this.#replies.add(reply);
    return reply.finally(() => this.#replies.delete(reply));
  }

  get busy() {
    return this.#replies.size > 0;
  }

  /** Resolves when all that is under way has been answered. */
  async idle() {
    await Promise.all(this.#replies);
  }

  end() {
    this.#child?.kill();
  }

  #started() {
    const child = this.#start();
    child.on('message', (message) => this.#receive(message));
    child.on('exit', (code) => {
      this.#child = undefined;
      for (const resolve of this.#waiting.values()) resolve({ error: died(code) });
      this.#waiting.clear();
    });
    return child;
  }

  #receive({ id, value, error, share }) {
    if (id === undefined) {
      this.#onShare(share);
      return;
    }
    this.#waiting.get(id)(error ? { error } : { value });
    this.#waiting.delete(id);
  }
}
