// Lets the element say what a page's policy for Trusted Types lacks: Lit creates its policy when it is imported, and fails the import of
// the element if the page refuses it.

import { join } from 'node:path';
import { root } from './lib.mjs';

const CALL = /([\w$]+)\.createPolicy\(("|')lit-html\2,\s*\{\s*createHTML:\s*([\w$]+)\s*=>\s*\3\s*\}\)/;
const POLICY = join(root, 'element', 'ways', 'trusted-types.ts');

/** Makes Lit call `createLitPolicy` of the element. */
export const litPolicy = {
  name: 'lit-policy',
  transform(code, id) {
    if (!/lit-html[\\/](node[\\/])?lit-html\.js$/.test(id)) return undefined;
    if (!CALL.test(code)) this.error('Lit has changed: it creates its policy in another way.');
    const called = code.replace(CALL, (_, factory) => `createLitPolicy(${factory})`);
    return { code: `import { createLitPolicy } from ${JSON.stringify(POLICY)};${called}`, map: null };
  },
};
