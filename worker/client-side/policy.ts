// What the page's Content Security Policy has forbidden, as the browser reports it.

import { DecantError } from '../errors/errors.js';

/** What of `SecurityPolicyViolationEvent` counts here. */
type Violation = Pick<SecurityPolicyViolationEvent, 'effectiveDirective' | 'blockedURI'>;

/** How long after a failure its report may come, in milliseconds. Browsers queue it. */
const LATE = 250;
/** The name that browsers report for the compilation of wasm. */
const WASM = 'wasm-eval';

const REPORT = 'securitypolicyviolation';

/** Listens to reports until `end`. */
export class PolicyReports {
  readonly #reports: Violation[] = [];
  #wake = () => {};
  readonly #hear = (event: Event) => {
    this.#reports.push(event as SecurityPolicyViolationEvent);
    this.#wake();
  };

  constructor() {
    globalThis.addEventListener(REPORT, this.#hear);
  }

  end(): void {
    globalThis.removeEventListener(REPORT, this.#hear);
  }

  /** The error for a worker that could not be started, if a policy is the reason. */
  forWorker(): Promise<DecantError | undefined> {
    return this.#find(({ effectiveDirective }) => effectiveDirective === 'worker-src');
  }

  /** The error for wasm that could not be fetched from `place` or compiled, if a policy is the reason. */
  forWasm(place: string): Promise<DecantError | undefined> {
    return this.#find(
      ({ effectiveDirective, blockedURI }) =>
        blockedURI === WASM || (effectiveDirective === 'connect-src' && blockedURI === place),
    );
  }

  async #find(matches: (report: Violation) => boolean): Promise<DecantError | undefined> {
    const until = performance.now() + LATE;
    for (let left = LATE; left > 0; left = until - performance.now()) {
      const found = this.#reports.find(matches);
      if (found) return forbidden(found);
      await this.#next(left);
    }
    return undefined;
  }

  /** Waits for another report, for `milliseconds` at most. */
  #next(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function forbidden({ effectiveDirective: directive, blockedURI }: Violation): DecantError {
  const [what, source] =
    blockedURI === WASM ? ['WebAssembly', "'wasm-unsafe-eval'"] : [blockedURI, sourceOf(blockedURI)];
  const message = `The page's Content Security Policy forbids ${what}: add ${source} to its ${directive}`;
  return new DecantError('internal', message, { code: 'policy', fields: { directive, source } });
}

/** The source expression that allows `blocked`: an address, or no more than a scheme. */
function sourceOf(blocked: string): string {
  if (!/^https?:/.test(blocked)) return `${blocked.replace(/:.*/s, '')}:`;
  const { origin } = new URL(blocked);
  return origin === globalThis.location.origin ? "'self'" : origin;
}
