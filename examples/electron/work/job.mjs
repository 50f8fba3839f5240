// The open image of the process, and its operations.

import { DecantError, open, shownText } from 'decant';
import { brief } from './progress.mjs';

/** Describes an image for the page. Its names are hostile until escaped. */
function described({ info, formats }, path) {
  const { format, virtualSize, needs, safety } = info;
  return {
    name: shownText(path.split(/[\\/]/).at(-1)),
    format,
    virtualSize,
    needs: needs.map(({ kind, role, name, of }) =>
      kind === 'password' ? { kind, of: shownText(of) } : { kind, role, name: shownText(name), of: shownText(of) },
    ),
    safety: safety.map(({ message }) => message),
    formats: formats.map(({ name, label, extension, outputSize, notices, refusal }) => ({
      name,
      label,
      extension,
      outputSize,
      notices,
      refusal: refusal?.message,
    })),
  };
}

export class Job {
  #image;
  #controller = new AbortController();
  /** The last call; calls run one after the other. */
  #last = Promise.resolve();

  /** Cancels the current call and the waiting ones. */
  cancel() {
    this.#controller.abort();
    this.#controller = new AbortController();
  }

  /** Opens the image at `path`, and closes the previous one. */
  open({ path, companions, password }) {
    this.cancel();
    return this.#next(async (signal) => {
      await this.#image?.close();
      this.#image = undefined;
      const image = await open(path, { companions, password, signal });
      try {
        // Detects a wrong password now, not during the conversion.
        const isLocked = image.info.needs.every(({ kind }) => kind === 'password');
        if (password !== undefined && isLocked && !image.streamed) await image.unlock({ signal });
      } catch (thrown) {
        await image.close();
        throw thrown;
      }
      this.#image = image;
      return described(image, path);
    });
  }

  /** Converts the open image to the file `path`. */
  convert({ path, format }, onProgress) {
    return this.#next(async (signal) => {
      // A restarted process has no image.
      if (!this.#image) throw new DecantError('usage', 'The image is not open any more; open it again');
      const result = await this.#image.convert(path, {
        format,
        signal,
        onProgress: (progress) => onProgress(brief(progress)),
      });
      const { outputSize, notices, lostBytes, time } = result;
      const milliseconds = Object.values(time).reduce((sum, each) => sum + each, 0);
      return { outputSize, notices, lostBytes, seconds: milliseconds / 1000 };
    });
  }

  #next(call) {
    const { signal } = this.#controller;
    const called = this.#last.then(() => call(signal));
    // The caller gets the error; the next call only waits.
    this.#last = called.catch(() => {});
    return called;
  }
}
