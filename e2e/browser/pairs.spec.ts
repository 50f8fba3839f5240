// The generated matrix in Chromium: every source, format, writer and target, all in one page. Registered formats and writers
// are included automatically.

import { openAsBlob, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as decant from '../../dist/node.js';
import { expect, giveFile, type Page, test } from '../support/browser.js';
import { images, pair, pairsOf } from '../support/images.js';
import * as pairs from '../support/pairs.mjs';
import { byScope, scope } from '../support/scope.js';

const MODULE = '/pairs.mjs';
const isLong = scope === 'long';

const ROLES = ['source', 'format', 'writer', 'target'] as const;

type Engine = import('../../dist/browser.js').Engine;
const ENGINES: Engine[] = ['workers', 'threads'];

declare global {
  interface Window {
    pairs: typeof pairs;
    /** The images, by format. */
    given: Record<string, File>;
    sources: Record<string, (format: string) => import('../../dist/browser.js').Input | string>;
    targets: Record<string, () => Promise<pairs.Place> | pairs.Place>;
  }
}

/** Sources and targets in addition to those of all platforms; paths are refused. */
async function prepare(page: Page): Promise<Record<'source' | 'target', string[]>> {
  return page.evaluate(async (url) => {
    window.pairs = await import(url);
    window.given = {};
    const root = await navigator.storage.getDirectory();
    const handle = (name: string) => root.getFileHandle(name, { create: true });
    const stored = async () => (await handle('out')).getFile();
    window.sources = {
      File: (format) => window.given[format]!,
      ...Object.fromEntries(
        Object.entries(window.pairs.SOURCES).map(([name, source]) => [
          name,
          (format: string) => source(window.given[format]!.slice()),
        ]),
      ),
      path: () => 'image',
    };
    window.targets = {
      storage: () => ({ output: { opfs: 'out' }, made: stored }),
      folder: () => ({ output: { folder: root, name: 'out' }, made: stored }),
      'picked file': async () => ({ output: await handle('out'), made: stored }),
      download: () => ({ output: { download: 'out' }, made: async () => undefined }),
      ...window.pairs.TARGETS,
      path: () => ({ output: 'out', made: async () => undefined }),
    };
    return { source: Object.keys(window.sources), target: Object.keys(window.targets) };
  }, MODULE);
}

/** The names of all input formats and of all output formats. */
async function registered(page: Page): Promise<Record<'format' | 'writer', string[]>> {
  await giveFile(page, images.kinds());
  const { unknown, writer } = await page.evaluate(async () => {
    const image = await window.decant.open(window.file);
    const writer = [...image.formats.map(({ name }) => name), ...Object.keys(window.pairs.FORMS)];
    await image.close();
    const unknown = await window.decant.open(window.file, { inputFormat: '?' }).catch(({ message }: Error) => message);
    return { unknown: String(unknown), writer };
  });
  return { format: pairsOf(unknown.split('choose one of ')[1]!.split(', ')), writer };
}

/** The fault of the row, or the error that refuses it. */
async function run(page: Page, row: pairs.Row, engine: Engine): Promise<string | undefined> {
  const says = pairs.refusal(pairs.REFUSED_IN_PAGES, row);
  const download = row.target === 'download' && !says ? page.waitForEvent('download') : undefined;
  const told = await page.evaluate(
    async ({ row, engine }) => {
      const place = await window.targets[row.target]!();
      const input = window.sources[row.source]!(row.format);
      return window.pairs.convert(window.decant, row, input, place, { engine, workers: 2 });
    },
    { row, engine },
  );
  if (says) return told?.includes(says) ? undefined : `is not refused with '${says}': ${told}`;
  if (told !== undefined || !download) return told;
  return pairs.complaint(decant, row.writer, await openAsBlob(await (await download).path()));
}

test(
  'every pair makes the disk, or is refused with its sentence',
  { tag: '@full' },
  async ({ apiPage: page, servers }) => {
    test.setTimeout(30 * 60_000);
    const module = fileURLToPath(new URL('../support/pairs.mjs', import.meta.url));
    servers.isolated.scripts.set(MODULE, readFileSync(module, 'utf8'));
    const members = { ...(await prepare(page)), ...(await registered(page)) };
    for (const format of members.format) {
      await giveFile(page, pair(format));
      await page.evaluate((format) => {
        window.given[format] = window.file;
      }, format);
    }
    const rows = pairs.rowsOf(members, scope);
    const wrong: string[] = [];
    for (const [at, row] of rows.entries()) {
      // In turn, or in the long run both.
      for (const engine of isLong ? ENGINES : [ENGINES[at % ENGINES.length]!]) {
        const told = await run(page, row, engine);
        if (told !== undefined) wrong.push(`${engine}, ${Object.values(row).join(', ')}: ${told}`);
      }
    }
    console.log(`${rows.length} rows of ${JSON.stringify(members)}`);
    expect(wrong).toEqual([]);
    const missing = ROLES.flatMap((role) => members[role].filter((name) => !rows.some((row) => row[role] === name)));
    expect(missing).toEqual([]);
    expect(rows.length).toBeGreaterThan(byScope({ short: 15, full: 60 }));
  },
);
