// Violations of the page's Content Security Policy, as the browser reports them.

import { DecantError } from '../errors/errors.js';

type Violation = Pick<SecurityPolicyViolationEvent, 'effectiveDirective' | 'blockedURI'>;

/** How long to wait for the report after a failure, in milliseconds: browsers queue it. */
const LATE = 250;
/** The `blockedURI` for the compilation of wasm. */
const WASM = 'wasm-eval';

const REPORT = 'securitypolicyviolation';

/** Collects reports until `end`. */
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

  /** Resolves to the error for a worker that did not start, if the policy is the reason. */
  forWorker(): Promise<DecantError | undefined> {
    return this.#find(({ effectiveDirective }) => effectiveDirective === 'worker-src');
  }

  /** Resolves to the error for wasm that was not fetched from `url` or compiled, if the policy is the reason. */
  forWasm(url: string): Promise<DecantError | undefined> {
    return this.#find(
      ({ effectiveDirective, blockedURI }) =>
        blockedURI === WASM || (effectiveDirective === 'connect-src' && blockedURI === url),
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

  /** Waits for the next report, at most `milliseconds`. */
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

/** The source expression that allows `blocked`, which is a URL or only a scheme. */
function sourceOf(blocked: string): string {
  if (!/^https?:/.test(blocked)) return `${blocked.replace(/:.*/s, '')}:`;
  const { origin } = new URL(blocked);
  return origin === globalThis.location.origin ? "'self'" : origin;
}
