// The page in German: the language of its document, and texts that stay English.

import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '../support/browser.js';
import { COMPLETION, closeGate, useGates } from '../support/gates.js';
import { images } from '../support/images.js';
import { choose, cutOptions, look, lookAgain } from '../support/page.js';

test.use({ locale: 'de-DE' });
test.beforeEach(async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: 'Festplattenabbild' })).toBeVisible();
});

test('a whole conversion', async ({ page }, testInfo) => {
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await lookAgain(page, testInfo, 'german-start');
  await choose(page, images.states());
  await page.getByRole('radio', { name: 'Als Download' }).click();
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await cutOptions(page, 'output')).toEqual([]);
  await lookAgain(page, testInfo, 'german-ready');
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Konvertieren' }).click();
  await saved;
  await expect(page.getByRole('heading', { name: 'Fertig' })).toBeVisible();
  await look(page, testInfo, 'german-done');
});

test('a file that is not a disk, and one that may not be', { tag: '@full' }, async ({ page }, testInfo) => {
  const note = testInfo.outputPath('note.txt');
  writeFileSync(note, 'no disk\n');
  await choose(page, note);
  await expect(page.locator('.bad')).toHaveText(
    'Das ist kein Festplattenabbild, sondern eine Textdatei. Öffnen Sie stattdessen eines, etwa eine .qcow2-, .vmdk-, .vdi- oder .vhdx-Datei.',
  );
  await expect(page.getByRole('button', { name: 'Als rohe Platte lesen' })).toHaveCount(0);
});

test('texts without a German sentence are marked as English', { tag: '@full' }, async ({ page }, testInfo) => {
  const image = readFileSync(images.states());
  // An unknown encryption method.
  image.writeUInt32BE(9, 32);
  const odd = testInfo.outputPath('odd.qcow2');
  writeFileSync(odd, image);
  await choose(page, odd);
  await expect(page.locator('.bad [lang=en]')).toHaveText(/^The image uses encryption method 9.*\.$/);
  await expect(page.locator('.bad')).toHaveText(/^Das Abbild .* Auf Englisch: The image uses/);
  await look(page, testInfo, 'german-failed');
});

test.describe('while the browser completes files', () => {
  useGates();

  test('the first screen with two files in the background', { tag: '@full' }, async ({ page }, testInfo) => {
    // The browser's dialog cannot be driven.
    await page.evaluate(() => {
      const picked = async () =>
        (await navigator.storage.getDirectory()).getDirectoryHandle('picked', { create: true });
      Object.assign(window, { showDirectoryPicker: picked });
    });
    const complete = await closeGate(page, COMPLETION);
    for (const image of [images.states(), images.kinds()]) {
      await choose(page, image);
      await page.getByRole('radio', { name: 'In einen Ordner' }).click();
      await page.getByRole('button', { name: 'Konvertieren', exact: true }).click();
      await page.getByRole('button', { name: 'Noch ein Abbild konvertieren' }).click();
    }
    const cards = page.getByRole('region', { name: 'Im Hintergrund' }).getByRole('listitem');
    await expect(cards).toContainText(['der Browser prüft die Datei: bisher', 'der Browser prüft die Datei: bisher']);
    await look(page, testInfo, 'german-background');
    await cards.first().getByRole('button', { name: 'Abbrechen' }).click();
    await complete();
    await expect(cards).toContainText([
      'Abgebrochen. Nichts ist zurückgeblieben.',
      'gespeichert als kinds.raw in picked',
    ]);
    await lookAgain(page, testInfo, 'german-background-ended');
  });
});
