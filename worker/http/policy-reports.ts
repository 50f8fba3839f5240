// Reports of the page's Content Security Policy: they show whether the policy has caused a failure.

import { CodedFailure, DecantError, type Fields } from '../errors/errors.js';

type Violation = Pick<SecurityPolicyViolationEvent, 'blockedURI' | 'effectiveDirective' | 'originalPolicy'>;

/**
 * How long to wait for the report after a failure, in milliseconds: browsers queue it. A failed request is repeated soon, while nothing
 * follows a part of the package that did not load.
 */
const REPORT_WAIT_MS = { request: 250, part: 2000 };
/** The `blockedURI` for the compilation of wasm. */
const WASM_BLOCKED = 'wasm-eval';

const REPORT = 'securitypolicyviolation';
const CONNECT = 'connect-src';

/** Collects reports until `end`. */
export class PolicyReports {
  readonly #reports: Violation[] = [];
  #wake = () => {};
  readonly #record = (event: Event) => {
    const violation = event as SecurityPolicyViolationEvent;
    // A policy that only reports forbids nothing.
    if (violation.disposition !== 'enforce') return;
    this.#reports.push(violation);
    this.#wake();
  };

  constructor() {
    globalThis.addEventListener(REPORT, this.#record);
  }

  end(): void {
    globalThis.removeEventListener(REPORT, this.#record);
  }

  /** Resolves to the error for a worker that did not start, if the policy is the reason. */
  async forWorker(): Promise<DecantError | undefined> {
    const found = await this.#find('part', ({ effectiveDirective }) => effectiveDirective === 'worker-src');
    return found && forbidden(found);
  }

  /** Resolves to the error for wasm that was not fetched from `url` or compiled, if the policy is the reason. */
  async forWasm(url: string): Promise<DecantError | undefined> {
    const found = await this.#find(
      'part',
      ({ effectiveDirective, blockedURI }) =>
        blockedURI === WASM_BLOCKED || (effectiveDirective === CONNECT && blockedURI === url),
    );
    return found && forbidden(found);
  }

  /** Resolves to the failure of a request to `origin`, or to where it redirects, if the policy is the reason. */
  async forRequest(origin: string): Promise<ForbiddenRequest | undefined> {
    const found = await this.#find(
      'request',
      ({ effectiveDirective, blockedURI }) => effectiveDirective === CONNECT && originOf(blockedURI) === origin,
    );
    return found && new ForbiddenRequest(origin, allows(found, new URL(origin)) ? undefined : sourceOf(origin));
  }

  async #find(
    failed: keyof typeof REPORT_WAIT_MS,
    matches: (report: Violation) => boolean,
  ): Promise<Violation | undefined> {
    const wait = REPORT_WAIT_MS[failed];
    const until = performance.now() + wait;
    for (let left = wait; left > 0; left = until - performance.now()) {
      const found = this.#reports.find(matches);
      if (found) return found;
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
    blockedURI === WASM_BLOCKED ? ['WebAssembly', "'wasm-unsafe-eval'"] : [blockedURI, sourceOf(blockedURI)];
  const message = `The page's Content Security Policy forbids ${what}: add ${source} to its ${directive}`;
  return new DecantError('internal', message, { code: 'policy', fields: { directive, source } });
}

/** A request that the policy of the page forbids: a retry is useless. */
export class ForbiddenRequest extends CodedFailure {
  readonly code = 'policy';
  readonly fields: Fields;
  /** Whether a server has received it, and redirected it. */
  readonly isSent: boolean;

  /** Without `source`, the policy allows `origin`, but not where that redirects: browsers hide it. */
  constructor(origin: string, source: string | undefined) {
    const advice =
      source === undefined
        ? `where ${origin} redirects: add the origin of that address to its ${CONNECT}`
        : `requests to ${origin}: add ${source} to its ${CONNECT}`;
    super(`the page's Content Security Policy forbids ${advice}`);
    this.isSent = source === undefined;
    this.fields = { directive: CONNECT, ...(source === undefined ? {} : { source }) };
  }
}

/** Whether the policy allows requests to the origin `url`. */
function allows({ originalPolicy }: Violation, url: URL): boolean {
  const directives = originalPolicy.split(';').map((directive) => directive.trim().split(/\s+/));
  const sourcesOf = (name: string) => directives.find(([first = '']) => first.toLowerCase() === name)?.slice(1);
  const sources = sourcesOf(CONNECT) ?? sourcesOf('default-src') ?? [];
  return sources.some((source) => isMatch(source.toLowerCase(), url));
}

/** A source expression: a scheme, or a host with or without a scheme and a port. A path does not count after a redirect. */
const SOURCE = /^(?:([a-z][a-z\d+.-]*):(?:\/\/|$))?([^:/]*)(?::(\d+|\*))?(?:\/|$)/;
const PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' };

/** Whether `source` matches the origin `url`: Content Security Policy 3, section 6.7.2.8. */
function isMatch(source: string, { origin, protocol, hostname, port }: URL): boolean {
  if (source === '*') return true;
  if (source === "'self'") return origin === globalThis.location.origin;
  const [matched, scheme = globalThis.location.protocol.slice(0, -1), host, ofPort] = SOURCE.exec(source) ?? [];
  // A source for http allows https, too.
  if (matched === undefined || ![`${scheme}:`, `${scheme}s:`].includes(protocol)) return false;
  if (host === '') return true;
  const isHost = host!.startsWith('*.') ? hostname.endsWith(host!.slice(1)) : hostname === host;
  return isHost && (ofPort === '*' || (ofPort ?? PORTS[protocol]) === (port || PORTS[protocol]));
}

function originOf(blocked: string): string | undefined {
  return URL.canParse(blocked) ? new URL(blocked).origin : undefined;
}

/** The source expression that allows `blocked`, which is a URL or only a scheme. */
function sourceOf(blocked: string): string {
  if (!/^https?:/.test(blocked)) return `${blocked.replace(/:.*/s, '')}:`;
  const { origin } = new URL(blocked);
  return origin === globalThis.location.origin ? "'self'" : origin;
}

/** Makes a request to `origin` by `ask`. Fails with `ForbiddenRequest` if the policy of the page is the reason of its rejection. */
export async function underPolicy<T>(origin: string, ask: () => Promise<T>): Promise<T> {
  // Only pages and their workers have policies.
  if (typeof SecurityPolicyViolationEvent === 'undefined') return ask();
  const reports = new PolicyReports();
  try {
    return await ask();
  } catch (thrown) {
    // As `fetch` rejects without a response.
    const forbidden = thrown instanceof TypeError ? await reports.forRequest(origin) : undefined;
    throw forbidden ?? thrown;
  } finally {
    reports.end();
  }
}
