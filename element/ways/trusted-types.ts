// Lit's policy for Trusted Types. If the page's Content Security Policy refuses it, Lit cannot render, and would fail the import.

import { DecantError } from 'decant';

/** The name that Lit gives its policy, in each copy. */
const NAME = 'lit-html';
const DIRECTIVE = 'trusted-types';
/** How long to wait for the browser's report, which is queued, in milliseconds. */
const REPORT_WAIT_MS = 250;

interface Policy {
  createHTML(html: string): string;
}

/** `window.trustedTypes`. */
interface PolicyFactory {
  createPolicy(name: string, rules: Policy): Policy;
}

let refused: Promise<DecantError> | undefined;

/** The error to show instead of the element, if Lit cannot render in this page. */
export const litRefused = (): Promise<DecantError> | undefined => refused;

/** Replaces `createPolicy` in Lit: see scripts/lit-policy.mjs. Returns `undefined` if the page refuses the policy. */
export function createLitPolicy(factory: PolicyFactory): Policy | undefined {
  try {
    return factory.createPolicy(NAME, { createHTML: (html) => html });
  } catch {
    if (!takesText()) refused = reported();
    return undefined;
  }
}

/** Whether HTML may be set as text: the page refuses the policy, but does not require one. */
function takesText(): boolean {
  try {
    document.createElement('template').innerHTML = '<br>';
    return true;
  } catch {
    return false;
  }
}

type Violation = Pick<SecurityPolicyViolationEvent, 'effectiveDirective' | 'originalPolicy' | 'sample'>;

/** Resolves to the error, by the browser's report about the policy. */
async function reported(): Promise<DecantError> {
  const found = await new Promise<Violation | undefined>((resolve) => {
    const hear = (event: SecurityPolicyViolationEvent) => {
      if (event.effectiveDirective === DIRECTIVE && event.sample === NAME) resolve(event);
    };
    document.addEventListener('securitypolicyviolation', hear);
    setTimeout(() => {
      document.removeEventListener('securitypolicyviolation', hear);
      resolve(undefined);
    }, REPORT_WAIT_MS);
  });
  return refusal(found?.originalPolicy ?? '');
}

/** The error under `policy`, the page's directives: another copy of Lit has the name, or the name is missing. */
export function refusal(policy: string): DecantError {
  const names = policy
    .split(';')
    .map((directive) => directive.trim().split(/\s+/))
    .find(([name]) => name?.toLowerCase() === DIRECTIVE);
  const isTaken = names?.some((name) => name === NAME || name === '*') ?? false;
  const source = isTaken ? "'allow-duplicates'" : NAME;
  const why = isTaken ? ', of which another copy of Lit has made one' : '';
  const message = `The page's Content Security Policy forbids the policy ${NAME} of Trusted Types${why}: add ${source} to its ${DIRECTIVE}`;
  return new DecantError('internal', message, { code: 'policy', fields: { directive: DIRECTIVE, source } });
}
