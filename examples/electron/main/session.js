// The image of one window. It holds the paths: the page never names one.

import { basename, extname } from 'node:path';

/** The dialog was cancelled. */
const NOTHING = { value: null };

const usage = (message) => ({ error: { name: 'DecantError', kind: 'usage', code: 'usage', fields: {}, message } });

export class Session {
  #work;
  #dialogs;
  #page;
  #path;
  #companions = [];
  #password;
  #formats = [];
  #output;

  /**
   * `work` is a `WorkClient`; `dialogs` opens file dialogs. `page.progressPort()` connects the page to a port and
   * returns the other end; `page.done()` is called when a conversion has ended.
   */
  constructor(work, dialogs, page) {
    this.#work = work;
    this.#dialogs = dialogs;
    this.#page = page;
  }

  get busy() {
    return this.#work.busy;
  }

  async chooseImage() {
    const path = await this.#dialogs.image();
    return path === undefined ? NOTHING : this.openImage(path);
  }

  openImage(path) {
    this.#path = path;
    this.#companions = [];
    this.#password = undefined;
    return this.#open(this.#password);
  }

  async chooseCompanions() {
    const paths = await this.#dialogs.companions();
    return paths.length === 0 ? NOTHING : this.addCompanions(paths);
  }

  addCompanions(paths) {
    this.#companions.push(...paths);
    return this.#open(this.#password);
  }

  async givePassword(password) {
    const reply = await this.#open(password);
    if (!reply.error) this.#password = password;
    return reply;
  }

  /** Asks where to save the disk in `format`. Resolves to the file name. */
  async chooseOutput(format) {
    const output = this.#formats.find(({ name }) => name === format);
    if (!output) return usage('Open an image, then choose one of its formats');
    const suggested = basename(this.#path, extname(this.#path)) + output.extension;
    const path = await this.#dialogs.output(suggested);
    if (path === undefined) return NOTHING;
    this.#output = { path, format };
    return { value: basename(path) };
  }

  async convert() {
    const output = this.#output;
    if (!output) return usage('Choose where to save the disk first');
    this.#output = undefined;
    const reply = await this.#work.request('convert', output, [this.#page.progressPort()]);
    this.#page.done();
    return reply;
  }

  cancel() {
    return this.#work.request('cancel');
  }

  /** Cancels the current work; resolves when it has ended. */
  async stop() {
    await this.cancel();
    await this.#work.idle();
  }

  end() {
    this.#work.end();
  }

  async #open(password) {
    this.#output = undefined;
    this.#formats = [];
    const reply = await this.#work.request('open', { path: this.#path, companions: this.#companions, password });
    this.#formats = reply.value?.formats ?? [];
    return reply;
  }
}
