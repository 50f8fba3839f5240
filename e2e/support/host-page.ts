// A host page around <decant-converter>, under a strict policy.

import { expect, type Page } from './browser.js';
import type { TestServer } from './server.js';

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; report-uri /report";

/** The records of a page about the element. */
export interface Noted {
  events: [string, unknown][];
  hash?: string;
  place?: string;
  disk?: { name: string; format: string; size: number | undefined };
}

declare global {
  interface Window {
    noted: Noted;
  }
}

/** A page with the element under a strict policy; `script` runs once it is defined, and has it as `converter`. */
export async function openHost(page: Page, server: TestServer, element: string, script = ''): Promise<void> {
  server.headers['Content-Security-Policy'] = POLICY;
  server.scripts.set(
    '/host.html',
    `<!doctype html><html lang="en"><title>host</title><main><h1>Console</h1>${element}<p id="elsewhere">Elsewhere</p></main><script type="module" src="/host.js"></script>`,
  );
  const note = `
    window.noted = { events: [] };
    const converter = document.querySelector('decant-converter');
    for (const type of ['info', 'progress', 'done', 'error', 'title'])
      document.addEventListener('decant-' + type, ({ detail }) => window.noted.events.push([type, detail?.kind ?? detail?.format ?? detail?.outputSize ?? detail?.phase]));`;
  server.scripts.set('/host.js', `import '/dist/element.js'; ${note} ${script}`);
  await page.goto('/host.html');
  await expect(page.locator('decant-converter .drop').first()).toBeVisible();
}

export const noted = (page: Page): Promise<Noted> => page.evaluate(() => window.noted);

/** The server has its own pages only, from now on. */
export function closeHost(server: TestServer): void {
  server.alter = undefined;
  server.headers = {};
  server.scripts.clear();
  server.reports.length = 0;
}
