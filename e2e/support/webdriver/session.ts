// Drives browsers that Playwright cannot drive: a few commands of the W3C's WebDriver.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type CommandName =
  | 'SetTimeouts'
  | 'Navigate'
  | 'ExecuteAsyncScript'
  | 'ElementClick'
  | 'ElementSendKeys'
  | 'TakeScreenshot';

/** Sends a command and returns its value; fails with what the browser answers. */
export type Command = (name: CommandName, parameters: Record<string, unknown>) => Promise<unknown>;

/** The key under which an element travels. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';
const HOUR = 3_600_000;
const PAUSE = 100;

export class Session {
  constructor(
    private readonly command: Command,
    /** The browser's version. */
    readonly version: string,
    /** The folder where downloads land. */
    readonly downloads: string,
    readonly stop: () => Promise<void>,
  ) {}

  async goto(url: string): Promise<void> {
    // Playwright ends a test that takes too long.
    await this.command('SetTimeouts', { script: HOUR });
    await this.command('Navigate', { url });
  }

  /** Runs `work` in the page. It sees the page's globals and its arguments, nothing of the test. */
  async run<Arguments extends unknown[], Value>(
    work: (...parameters: Arguments) => Value | Promise<Value>,
    ...parameters: Arguments
  ): Promise<Value> {
    // As text: the browsers do not agree on what becomes of `undefined`.
    const script = `
      const [parameters, done] = arguments;
      const ended = (value) => done({ json: JSON.stringify(value) });
      const failed = (thrown) => done({ failed: thrown.name + ': ' + thrown.message });
      (async () => (${work})(...parameters))().then(ended, failed);`;
    const answer = await this.command('ExecuteAsyncScript', { script, args: [parameters] });
    const { json, failed } = answer as { json?: string; failed?: string };
    if (failed !== undefined) throw new Error(failed);
    return json === undefined ? (undefined as Value) : (JSON.parse(json) as Value);
  }

  /** Waits for a control that works and has `text` in it, and clicks on it. */
  async click(text: string): Promise<void> {
    // A click would miss elements that move while the page still loads.
    for (let before = ''; before !== (await this.text()); await pause(1000)) before = await this.text();
    await this.command('ElementClick', {
      id: await this.#find('button:enabled:not([aria-disabled=true]), label, summary, a', text),
    });
  }

  /** Chooses files. */
  async choose(...paths: string[]): Promise<void> {
    await this.command('ElementSendKeys', { id: await this.#find('input[type=file]'), text: paths.join('\n') });
  }

  /** Types a password. */
  async typePassword(text: string): Promise<void> {
    await this.command('ElementSendKeys', { id: await this.#find('input[type=password]'), text });
  }

  /** The text that a person reads on the page. */
  text(): Promise<string> {
    return this.run(() => {
      const converter = document.querySelector('decant-converter')?.shadowRoot;
      const parts = converter ? [...converter.children] : [document.body];
      return parts.map((part) => (part as HTMLElement).innerText).join('\n');
    });
  }

  /** Waits until the page says `text`. */
  async sees(text: string, timeout = 60_000): Promise<void> {
    const end = Date.now() + timeout;
    for (let page = await this.text(); !page.includes(text); page = await this.text()) {
      if (Date.now() > end) throw new Error(`The page does not say '${text}' but:\n${page}`);
      await pause();
    }
  }

  /** Waits until the download `name` is there, alone and with `size` bytes; returns its path. */
  async downloaded(name: string, size: number): Promise<string> {
    const path = join(this.downloads, name);
    // Parts have other names, or fewer bytes.
    const whole = () => readdirSync(this.downloads).join() === name && statSync(path).size === size;
    while (!whole()) await pause();
    return path;
  }

  /** A picture of the page, PNG. */
  async picture(): Promise<Buffer> {
    return Buffer.from((await this.command('TakeScreenshot', {})) as string, 'base64');
  }

  /** Waits for an element, also of the page's component, and returns its ID. */
  async #find(css: string, text = ''): Promise<string> {
    const find = (css: string, text: string) => {
      const component = document.querySelector('decant-converter');
      const all = [...(component?.shadowRoot ?? document).querySelectorAll<HTMLElement>(css)];
      return all.find((element) => text === '' || element.innerText.includes(text)) ?? null;
    };
    const script = `const [css, text, done] = arguments; done((${find})(css, text));`;
    const end = Date.now() + 30_000;
    for (;;) {
      const found = await this.command('ExecuteAsyncScript', { script, args: [css, text] });
      if (found) return (found as Record<string, string>)[ELEMENT]!;
      if (Date.now() > end) throw new Error(`The page has no '${text}' (${css}) but:\n${await this.text()}`);
      await pause();
    }
  }
}

export const pause = (milliseconds = PAUSE) => new Promise((resolve) => setTimeout(resolve, milliseconds));
