// The main process's connection to the utility process.

/** The process has died; its pending calls fail. */
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
  /** By call ID: the callback for the reply. */
  #waiting = new Map();
  #replies = new Set();
  #lastId = 0;

  /** `start` starts the process. `onShare` gets the completed share of a conversion. */
  constructor(start, onShare) {
    this.#start = start;
    this.#onShare = onShare;
  }

  /** Resolves to `{ value }` or `{ error }`. Electron would reduce a thrown error to its message. */
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

  /** Resolves when all pending calls have settled. */
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
