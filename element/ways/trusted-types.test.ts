// Names the policy for Trusted Types that the page lacks for Lit.

import { expect, test } from 'vitest';
import { refusal } from './trusted-types.js';

// (directives, missing in `trusted-types`)
test.each([
  ["require-trusted-types-for 'script'; trusted-types decant", 'lit-html'],
  ["trusted-types 'none'", 'lit-html'],
  ['trusted-types', 'lit-html'],
  ['', 'lit-html'],
  ['script-src lit-html; trusted-types decant', 'lit-html'],
  ['trusted-types decant lit-html', "'allow-duplicates'"],
  ['default-src *;  Trusted-Types\tlit-html  decant ', "'allow-duplicates'"],
  ['trusted-types *', "'allow-duplicates'"],
])('%s', (policy, source) => {
  const { code, fields, message } = refusal(policy);
  expect({ code, fields }).toEqual({ code: 'policy', fields: { directive: 'trusted-types', source } });
  expect(message).toContain(`add ${source} to its trusted-types`);
});
