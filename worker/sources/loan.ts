// Lends the files of an image to a coordinator.

import type { DecantError } from '../errors/errors.js';
import type { ImageSpec } from '../messages/messages.js';

/** A loan of files, which a coordinator opens by itself. */
export class Loan {
  /** The image to open. */
  image!: ImageSpec;
  /** The ports in `image`, to be transferred with it. */
  readonly ports: MessagePort[] = [];

  /** Cancels current and later reads: they fail with `cancelled`, without waiting for the source. */
  cancel(): void {}

  /** Ends the loan: cancels all reads and closes the ports. */
  end(): void {}

  /** Adds to an error of a coordinator what only this side knows. */
  explain(error: DecantError): DecantError {
    return error;
  }
}
