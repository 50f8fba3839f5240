// Host pages: strict policies, trusted types, the package on another origin.

import { expect, giveFile, hashOpfs, type Page, test } from '../support/browser.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { byScope } from '../support/scope.js';
import type { TestServer } from '../support/server.js';
import { EXPOSED, takeUploads } from '../support/uploads.js';

test.use({ isolated: false });

const IMAGES = byScope({ short: [images.zstd], full: [images.zlib, images.zstd, images.luks] });

const NOTHING = "default-src 'none'; connect-src 'self'; worker-src 'self'; report-uri /report";
const TRUSTED = "require-trusted-types-for 'script'; trusted-types decant";

/** Trusted types require a worker URL from a policy of the page. */
const CONFIGURE = `
  const policy = trustedTypes.createPolicy('decant', { createScriptURL: (url) => url });
  const script = policy.createScriptURL('/dist/worker.js');
  window.decant.configure({ worker: () => new Worker(script, { type: 'module' }) });`;

/** A page that has the package as `window.decant`, by a script that comes with it. */
async function openHost(page: Page, server: TestServer, policy: string, more: string): Promise<void> {
  server.headers['Content-Security-Policy'] = policy;
  const page_ =
    '<!doctype html><title>host</title><input type="file"><script type="module" nonce="n" src="/host.js"></script>';
  server.scripts.set('/host.html', page_);
  server.scripts.set('/host.js', `import * as decant from '/dist/browser.js'; window.decant = decant; ${more}`);
  await page.goto('/host.html');
  await expect.poll(() => page.evaluate(() => window.decant !== undefined)).toBe(true);
}

const convert = (page: Page) =>
  page.evaluate(async (password) => {
    try {
      const image = await window.decant.open(window.file, { password });
      await image.convert({ opfs: 'out.raw' });
      await image.close();
      return undefined;
    } catch (error) {
      return String(error);
    }
  }, PASSWORD);

test.afterEach(({ servers }) => {
  servers.plain.headers = {};
  servers.plain.scripts.clear();
  servers.plain.reports.length = 0;
});

for (const [name, policy, more, details] of [
  ['own files only', `${NOTHING}; script-src 'self' 'wasm-unsafe-eval'`, '', {}],
  ['a nonce', `${NOTHING}; script-src 'nonce-n' 'strict-dynamic' 'wasm-unsafe-eval'`, '', { tag: '@full' }],
  ['trusted types', `${NOTHING}; script-src 'self' 'wasm-unsafe-eval'; ${TRUSTED}`, CONFIGURE, { tag: '@full' }],
] as const) {
  test(`under a policy of ${name} nothing is violated`, details, async ({ page, servers }) => {
    await openHost(page, servers.plain, policy, more);
    for (const image of IMAGES) {
      await giveFile(page, image());
      expect(await convert(page)).toBe(undefined);
      expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
    }
    expect(servers.plain.reports).toEqual([]);
  });
}

test('an insufficient policy is reported, with the missing directive', async ({ page, servers }) => {
  const { plain } = servers;
  await openHost(page, plain, `${NOTHING}; script-src 'self' 'wasm-unsafe-eval'; ${TRUSTED}`, '');
  await giveFile(page, images.zlib());
  expect(await convert(page)).toMatch(
    /Could not start a worker: .*TrustedScriptURL.* policy of the page for Trusted Types.*configure\(\{ worker \}\)/,
  );
  await expect.poll(() => plain.reports.length).toBeGreaterThan(0);

  await openHost(
    page,
    plain,
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'none'",
    '',
  );
  await giveFile(page, images.zlib());
  expect(await convert(page)).toBe(
    `DecantError: The page's Content Security Policy forbids ${plain.url}/dist/worker.js: add 'self' to its worker-src`,
  );

  await openHost(page, plain, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'", '');
  await giveFile(page, images.zlib());
  expect(await convert(page)).toBe(
    `DecantError: The page's Content Security Policy forbids ${plain.url}/dist/decant.wasm: add 'self' to its connect-src`,
  );

  await openHost(page, plain, "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'", '');
  await giveFile(page, images.zlib());
  expect(await convert(page)).toBe(
    "DecantError: The page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to its script-src",
  );
});

const OWN = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'";

/** What `work` fails with in the page: its kind, code, fields and message. */
const failureIn = (page: Page, work: 'read' | 's3' | 'gcs' | 'tus' | 'put' | 'block blob', url: string) =>
  page.evaluate(
    async ([work, url]) => {
      const upload = (await import('/dist/upload.js' as string)) as typeof import('../../dist/upload.js');
      const targets = {
        s3: () => upload.s3Target({ sign: ({ action }) => `${url}?${action}` }),
        gcs: () => upload.gcsTarget({ url }),
        tus: () => upload.tusTarget({ url }),
        put: () => upload.putTarget({ url }),
        'block blob': () => upload.azureBlockBlobTarget({ url }),
      };
      try {
        if (work === 'read') {
          await window.decant.open(new URL(url));
          return undefined;
        }
        const image = await window.decant.open(new Blob([new Uint8Array(1 << 20)]), { inputFormat: 'raw' });
        await image.convert(targets[work]());
        return undefined;
      } catch (thrown) {
        return JSON.parse(JSON.stringify(thrown)) as Record<string, unknown>;
      }
    },
    [work, url] as const,
  );

for (const [work, kind, details] of [
  ['read', 'source', { tag: '@full' }],
  ['s3', 'target', {}],
  ['gcs', 'target', { tag: '@full' }],
  ['tus', 'target', { tag: '@full' }],
  ['put', 'target', { tag: '@full' }],
  ['block blob', 'target', { tag: '@full' }],
] as const) {
  test(`a server that the policy lacks is named, with the directive: ${work}`, details, async ({ page, servers }) => {
    const server = await takeUploads({ headers: EXPOSED });
    try {
      await openHost(page, servers.plain, OWN, '');
      const failure = await failureIn(page, work, `${server.origin}/${work}/disk`);
      expect(failure).toMatchObject({
        kind,
        code: 'policy',
        fields: { directive: 'connect-src', source: server.origin },
      });
      const advice = `forbids requests to ${server.origin}: add ${server.origin} to its connect-src`;
      expect(String(failure!.message).endsWith(`: the page's Content Security Policy ${advice}`)).toBe(true);
    } finally {
      await server.close();
    }
  });
}

test('a server that redirects to one that the policy lacks', async ({ page, servers }) => {
  const { plain, isolated: other } = servers;
  await openHost(page, plain, OWN, '');
  plain.scripts.clear();
  await page.route(`${plain.url}/moved`, (route) =>
    route.fulfill({ status: 302, headers: { Location: `${other.url}/disk` } }),
  );
  expect(await failureIn(page, 'read', `${plain.url}/moved`)).toMatchObject({
    kind: 'source',
    code: 'policy',
    fields: { directive: 'connect-src' },
    message: `Could not open '${plain.url}/moved': the page's Content Security Policy forbids where ${plain.url} redirects: add the origin of that address to its connect-src`,
  });
});

test('the package on another origin: workers from here, wasm from there', async ({ page, servers }) => {
  const { plain, isolated: cdn } = servers;
  cdn.headers['Access-Control-Allow-Origin'] = '*';
  plain.scripts.set('/worker.js', `import '/dist/worker.js';`);
  try {
    await page.goto('/blank');
    plain.headers['Content-Security-Policy'] =
      `default-src 'none'; script-src 'self' ${cdn.url} 'wasm-unsafe-eval'; connect-src ${cdn.url}; worker-src 'self'`;
    await page.reload();
    await page.evaluate(async (url) => {
      window.decant = await import(url);
    }, `${cdn.url}/dist/browser.js`);
    await giveFile(page, images.zlib());
    expect(await convert(page)).toMatch(/Could not start a worker: .*configure\(\{ worker \}\)/);
    await page.evaluate(
      ([own, other]) =>
        window.decant.configure({
          worker: () => new Worker(`${own}/worker.js`, { type: 'module' }),
          wasm: () => `${other}/dist/decant.wasm`,
        }),
      [plain.url, cdn.url] as const,
    );
    expect(await convert(page)).toBe(undefined);
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
  } finally {
    cdn.headers = {};
  }
});

/** The policy of another copy of Lit in the page. */
const OTHER_LIT = "trustedTypes.createPolicy('lit-html', { createHTML: (html) => html });";
const REQUIRED = "require-trusted-types-for 'script'; ";
const LIT_REFUSED = "The page's Content Security Policy forbids the policy lit-html of Trusted Types";

/** Opens a page with the element under trusted types. `before` runs before the element is imported; `attributes` are those of the page. */
async function openElement(page: Page, server: TestServer, trusted: string, before: string, attributes = '') {
  await openHost(page, server, `${NOTHING}; script-src 'self' 'wasm-unsafe-eval'; ${trusted}`, CONFIGURE);
  server.scripts.set(
    '/host.html',
    `<html ${attributes}><decant-converter></decant-converter><script src="/element.js" type="module"></script>`,
  );
  server.scripts.set(
    '/element.js',
    `import '/host.js';
    window.codes = [];
    addEventListener('decant-error', ({ detail }) => window.codes.push(detail.code));
    addEventListener('error', (event) => { window.codes.push(event.error.code); event.preventDefault(); });
    ${before}
    await import('/dist/element.js');
    document.querySelector('decant-converter').output = () => ({ opfs: 'out.raw' });`,
  );
  await page.goto('/host.html');
}

for (const [name, trusted, before, details] of [
  ['lit-html', `${REQUIRED}trusted-types decant lit-html`, '', {}],
  ["'allow-duplicates'", `${REQUIRED}trusted-types decant lit-html 'allow-duplicates'`, OTHER_LIT, { tag: '@full' }],
  ['no requirement', 'trusted-types decant', '', { tag: '@full' }],
] as const) {
  test(`the element under trusted types: ${name}`, details, async ({ page, servers }) => {
    await openElement(page, servers.plain, trusted, before);
    await page.locator('decant-converter input[type=file]').setInputFiles(images.zstd());
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible();
    expect(await hashOpfs(page, 'out.raw')).toBe(hashFile(images.raw()));
    const violated = servers.plain.reports.map((report) => JSON.parse(report)['csp-report']['blocked-uri']);
    expect(violated).toEqual(trusted.includes(REQUIRED) ? [] : ['trusted-types-policy']);
  });
}

for (const [name, trusted, before, attributes, said] of [
  ['lit-html', 'decant', '', '', `${LIT_REFUSED}: add lit-html to its trusted-types.`],
  [
    "'allow-duplicates'",
    'decant lit-html',
    OTHER_LIT,
    '',
    `${LIT_REFUSED}, of which another copy of Lit has made one: add 'allow-duplicates' to its trusted-types.`,
  ],
  [
    'lit-html, in German',
    'decant',
    '',
    'lang="de"',
    'Die Regeln dieser Seite (Content-Security-Policy) verbieten, was Decant braucht: trusted-types muss lit-html enthalten.',
  ],
] as const) {
  const details = name === 'lit-html' ? {} : { tag: '@full' };
  test(`the element says what trusted types lack: ${name}`, details, async ({ page, servers }) => {
    await openElement(page, servers.plain, `${REQUIRED}trusted-types ${trusted}`, before, attributes);
    await expect(page.getByRole('alert')).toHaveText(said);
    expect(await page.evaluate(() => (window as unknown as { codes: string[] }).codes)).toEqual(['policy', 'policy']);
  });
}

test(
  'two copies of the element under trusted types: the first one is the element',
  { tag: '@full' },
  async ({ page, servers }) => {
    const first = "await import('/dist/element.js?first');";
    await openElement(page, servers.plain, `${REQUIRED}trusted-types decant lit-html`, first);
    await expect(page.getByRole('heading', { name: 'Drop a disk image' })).toBeVisible();
    await page.locator('decant-converter input[type=file]').setInputFiles(images.zstd());
    await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
  },
);
