// <decant-converter> in a host page: its events, targets and texts, and parts of the page that it must not change.

import { fileURLToPath } from 'node:url';
import type { LitElement } from 'lit';
import type { DecantConverterElement } from '../../dist/element.js';
import { unitsOf } from '../../element/texts/wording.js';
import { expect, type Page, test } from '../support/browser.js';
import { serveGates, stopMidway } from '../support/gates.js';
import { closeHost, type Noted, noted, openHost } from '../support/host-page.js';
import { DISK_SIZE, hashFile, images, PASSWORD, sparse } from '../support/images.js';
import { audit, choose, drop, look } from '../support/page.js';
import type { TestServer } from '../support/server.js';

test.use({ isolated: false });

test.afterEach(({ servers }) => closeHost(servers.plain));

/** Accepts the whole disk, and records its hash. */
const UPLOAD = `
  converter.output = ({ name, format, info }) => {
    const parts = new Uint8Array(info.virtualSize);
    window.noted.disk = { name, format: format.name, size: format.outputSize };
    return {
      write: async (offset, bytes) => parts.set(bytes, offset),
      hole: async () => {},
      close: async () => {
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', parts));
        window.noted.hash = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      },
      abort: async () => { window.noted.hash = 'aborted'; },
    };
  };`;

for (const [name, image, password, tag] of [
  ['zlib', images.zlib, undefined, []],
  ['zstd', images.zstd, undefined, ['@full']],
  ['LUKS', images.luks, PASSWORD, ['@full']],
] as const) {
  test(`a disk goes where the page wants it: ${name}`, { tag: [...tag] }, async ({ page, servers }) => {
    await openHost(page, servers.plain, '<decant-converter></decant-converter>', UPLOAD);
    await expect(page.getByText('othing is uploaded')).toHaveCount(0);
    await choose(page, image());
    if (password !== undefined) {
      await page.getByLabel('Password for').fill(password);
      await page.getByRole('button', { name: 'Unlock' }).click();
    }
    await expect(page.getByRole('img', { name: 'Picture of the disk' })).toBeVisible();
    await expect(page.getByRole('radio')).toHaveCount(0);
    await audit(page);
    await page.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible({ timeout: 60_000 });
    const { hash, disk, events } = await noted(page);
    expect(hash).toBe(hashFile(images.raw()));
    expect(disk).toMatchObject({ format: 'raw', name: expect.stringMatching(/\.raw$/) });
    const types = events.map(([type]) => type);
    expect(types).toEqual(expect.arrayContaining(['info', 'progress', 'done', 'title']));
    expect(types).not.toContain('error');
    expect(events.find(([type]) => type === 'info')).toEqual(['info', 'qcow2']);
    expect(servers.plain.reports).toEqual([]);
    // The browser's storage is not used.
    expect(
      await page.evaluate(async () => {
        const root = await navigator.storage.getDirectory();
        const names: string[] = [];
        for await (const name of root.keys()) names.push(name);
        return names.length;
      }),
    ).toBe(0);
  });
}

test(
  'a disk is saved nowhere if the output of the page is an attribute, or comes too late',
  { tag: '@full' },
  async ({ page, servers }) => {
    const downloads: string[] = [];
    page.on('download', (download) => downloads.push(download.suggestedFilename()));
    const note = `
    window.noted.codes = [];
    document.addEventListener('decant-error', ({ detail }) => window.noted.codes.push(detail.code));
    // The console of the developer.
    addEventListener('error', (event) => { window.noted.codes.push(event.error.code); event.preventDefault(); });`;
    const codes = () => page.evaluate(() => (window.noted as Noted & { codes: string[] }).codes);
    const isWrong = page.getByText('This page wants to receive the disk itself, but is set up wrongly.').first();

    await openHost(page, servers.plain, '<decant-converter output="[object Object]"></decant-converter>', note);
    await expect(isWrong).toBeVisible();
    await expect(page.getByText('othing is uploaded')).toHaveCount(0);
    await choose(page, images.zlib());
    await expect(page.getByRole('button', { name: 'Choose another file' })).toBeVisible();
    await expect(isWrong).toBeVisible();
    await audit(page);
    expect(await codes()).toEqual(['output-unreadable', 'output-unreadable']);

    await openHost(page, servers.plain, '<decant-converter></decant-converter>', note);
    await choose(page, images.zlib());
    await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
    await page.evaluate(() => {
      document.querySelector('decant-converter')!.output = () => new WritableStream();
    });
    await expect(page.getByText('The page has changed where the disk goes. Nothing was saved.').first()).toBeVisible();
    await audit(page);
    expect(await codes()).toEqual(['output-changed', 'output-changed']);
    expect(downloads).toEqual([]);
  },
);

test('a page that refuses a disk says why, what is below returns to the window, and the image can be tried again', async ({
  page,
  servers,
}) => {
  await page.setViewportSize({ width: 480, height: 700 });
  const refuse = "converter.output = () => { throw new Error('Your quota is used up') };";
  await openHost(page, servers.plain, '<decant-converter></decant-converter>', refuse);
  const isBelow = () =>
    page.locator('#elsewhere').evaluate((element) => {
      scrollTo(0, 0);
      return element.getBoundingClientRect().top > innerHeight;
    });
  await choose(page, images.zlib());
  await expect(page.getByRole('img', { name: 'Picture of the disk' })).toBeVisible();
  await expect.poll(isBelow).toBe(true);
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByText('Your quota is used up.').first()).toBeVisible();
  await expect.poll(isBelow).toBe(false);
  expect((await noted(page)).events).toContainEqual(['error', 'target']);
  await page.getByRole('button', { name: 'Back to the image' }).click();
  await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
});

test('a cancel aborts the target of the page', async ({ page, servers }) => {
  await openHost(page, servers.plain, '<decant-converter></decant-converter>');
  await page.evaluate(() => {
    document.querySelector('decant-converter')!.output = () => ({
      write: () => new Promise(() => {}),
      close: async () => {},
      abort: async () => {
        window.noted.hash = 'aborted';
      },
    });
  });
  await choose(page, images.zlib());
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('heading', { name: 'Cancelled' })).toBeVisible();
  const { hash, events } = await noted(page);
  expect(hash).toBe('aborted');
  expect(events).toContainEqual(['error', 'cancelled']);
});

for (const [where, element, taken, tag] of [
  ['elsewhere, by default', '<decant-converter></decant-converter>', false, ['@full']],
  ['elsewhere, with whole-window', '<decant-converter whole-window></decant-converter>', true, ['@full']],
] as const) {
  test(
    `what is dropped ${where} is ${taken ? 'taken' : 'left alone'}`,
    { tag: [...tag] },
    async ({ page, servers }) => {
      const note = `
      addEventListener('dragover', (event) => event.preventDefault());
      addEventListener('drop', (event) => { event.preventDefault(); window.hasDropped = true; });`;
      await openHost(page, servers.plain, element, note);
      await page.locator('#elsewhere').scrollIntoViewIfNeeded();
      const box = (await page.locator('#elsewhere').boundingBox())!;
      await drop(page, images.zlib(), { x: box.x + 5, y: box.y + 5 });
      if (!taken) {
        await page.waitForFunction(() => 'hasDropped' in window);
        // An accepted file changes the title at once.
        const isUpdated = () =>
          page.locator('decant-converter').evaluate((element) => (element as unknown as LitElement).updateComplete);
        expect(await isUpdated()).toBe(true);
        expect((await noted(page)).events).toEqual([]);
        await drop(page, images.zlib());
      }
      await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
    },
  );
}

test('texts are those of the language around, or of the page', { tag: '@full' }, async ({ page, servers }) => {
  await openHost(page, servers.plain, '<div lang="de-AT"><decant-converter></decant-converter></div>');
  await expect(page.getByRole('heading', { name: 'Festplattenabbild ablegen' })).toBeVisible();
  await choose(page, images.zlib());
  await expect(page.getByRole('button', { name: 'Konvertieren' })).toBeVisible();
  await page.evaluate(() => {
    const converter = document.querySelector('decant-converter')!;
    converter.lang = 'fr';
    const texts = { convert: 'Import', ways: { download: 'To this computer' }, noSuchText: 'x' };
    converter.texts = texts;
  });
  await expect(page.getByRole('button', { name: 'Import', exact: true })).toBeVisible();
  await expect(page.getByRole('radio', { name: 'To this computer' })).toBeVisible();
  await expect(page.getByRole('radio', { name: 'To a folder you pick' })).toBeVisible();
});

test('a page has its own header, help and colours', { tag: '@full' }, async ({ page, servers }) => {
  const element = '<decant-converter><h2 slot="header">Import a disk</h2><p slot="help">Ask us.</p></decant-converter>';
  const colours = `const sheet = new CSSStyleSheet(); sheet.replaceSync('decant-converter { --decant-accent: rgb(1, 2, 3) } decant-converter::part(card) { border-radius: 0 }'); document.adoptedStyleSheets = [sheet];`;
  await openHost(page, servers.plain, element, colours);
  await expect(page.getByText('Converts virtual disks')).toBeHidden();
  await expect(page.getByText('Ask us.')).toBeVisible();
  const styles = await page.evaluate(() => {
    const { shadowRoot } = document.querySelector('decant-converter')!;
    const of = (selector: string) => getComputedStyle(shadowRoot!.querySelector(selector)!);
    return [of('button.primary').backgroundColor, of('.card').borderRadius];
  });
  expect(styles).toEqual(['rgb(1, 2, 3)', '0px']);
});

/** Begins a conversion that pauses after a part; the returned function resumes it. */
const begin = (page: Page) =>
  stopMidway(page, 'sparse-64.qcow2', () => page.getByRole('button', { name: 'Convert', exact: true }).click());

test('the picture fills as the disk is converted', { tag: '@full' }, async ({ page, servers }) => {
  serveGates(servers.plain);
  await openHost(page, servers.plain, '<decant-converter></decant-converter>', UPLOAD);
  /** The number of fully opaque pixels of the picture. */
  const opaque = () =>
    page.locator('canvas').evaluate((canvas) => {
      const { data } = (canvas as HTMLCanvasElement)
        .getContext('2d')!
        .getImageData(0, 0, (canvas as HTMLCanvasElement).width, (canvas as HTMLCanvasElement).height);
      return data.filter((value, at) => at % 4 === 3 && value === 255).length;
    });
  await choose(page, sparse(64 << 20).image);
  await expect(page.getByText('so far')).toHaveCount(0);
  await expect(page.getByRole('radio')).toHaveCount(0);
  await expect.poll(opaque).toBeGreaterThan(10_000);
  // Cells fade in, frame by frame.
  let [whole, still] = [0, 0];
  while (still < 5) {
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const now = await opaque();
    still = now === whole ? still + 1 : 0;
    whole = now;
  }
  const goOn = await begin(page);
  await expect(page.getByRole('img', { name: /Picture of the disk, [1-9]\d?% converted/ })).toBeVisible();
  await expect
    .poll(async () => {
      const now = await opaque();
      return now > 0 && now < whole;
    })
    .toBe(true);
  await goOn();
  await expect(page.getByRole('img', { name: 'Picture of the disk, 100% converted' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  await expect.poll(opaque).toBe(whole);
});

test('the contents of the disk are shown', async ({ page, servers }, testInfo) => {
  await openHost(page, servers.plain, '<decant-converter></decant-converter>');
  await choose(page, images.partitioned());
  await expect(page.getByText('On this disk: 2 partitions (GPT)')).toBeVisible();
  await expect(page.getByText('The system on this disk boots with UEFI.')).toBeVisible();
  await expect(page.getByRole('listitem').filter({ hasText: 'EFI system “EFI”, 8.4 MB' })).toBeVisible();
  const { size } = unitsOf({ language: 'en', bytes: 'bytes', days: 'days' });
  const part = `ext4, ${size(DISK_SIZE)}, Linux`;
  await expect(page.getByRole('listitem').filter({ hasText: part })).toBeVisible();
  await expect(page.locator('.lane').getByText(part)).toBeVisible();
  await look(page, testInfo, 'inside');
});

test('a page offers its own places', { tag: '@full' }, async ({ page, servers }) => {
  const script = `
    converter.places = ['azure', { name: 'mine', label: 'My cloud', format: 'qcow2' }];
    converter.addEventListener('decant-place', ({ detail }) => { window.noted.place = detail; });`;
  await openHost(page, servers.plain, '<decant-converter></decant-converter>', script);
  await choose(page, images.zlib());
  await expect(page.locator('.tiles [id^=place-]')).toHaveText(['Azure', 'My cloud']);
  await expect(page.getByLabel('Output format')).toHaveValue('vpc');
  await page.getByRole('radio', { name: 'My cloud' }).check();
  await expect(page.getByText('qcow2 for My cloud')).toBeVisible();
  expect(await noted(page)).toMatchObject({ place: 'mine' });
});

/** Opens a host page that is hidden, whose element notes notifications as events. */
async function openHidden(page: Page, server: TestServer): Promise<void> {
  await page.context().grantPermissions(['notifications']);
  await page.clock.install();
  // A window without a screen is never hidden.
  const hide = `
    Object.defineProperty(document, 'hidden', { value: true });
    window.Notification = class extends Notification {
      constructor(title, options) {
        super(title, options);
        window.noted.events.push(['notification', title + ': ' + options.body]);
      }
    };`;
  serveGates(server);
  await openHost(page, server, '<decant-converter></decant-converter>', UPLOAD + hide);
}

const notifications = async (page: Page) => (await noted(page)).events.filter(([type]) => type === 'notification');

test('the end of a long conversion is announced if the page is hidden', { tag: '@full' }, async ({ page, servers }) => {
  await openHidden(page, servers.plain);
  await choose(page, sparse(64 << 20).image);
  const goOn = await begin(page);
  await page.clock.fastForward(10_000);
  await goOn();
  await expect(page.getByRole('heading', { name: 'Done' })).toBeVisible();
  const text = expect.stringMatching(/Done.*sparse-64\.raw/);
  await expect.poll(() => notifications(page)).toEqual([['notification', text]]);
});

test('the end of a long queue is announced with its results', { tag: '@full' }, async ({ page, servers }) => {
  await openHidden(page, servers.plain);
  await choose(page, sparse(64 << 20).image, images.truncated());
  const convertAll = () => page.getByRole('button', { name: 'Convert all 2' }).click();
  const goOn = await stopMidway(page, 'sparse-64.qcow2', convertAll);
  await page.clock.fastForward(10_000);
  await goOn();
  await expect(page.getByRole('heading', { name: '1 of 2 converted' })).toBeVisible();
  const text = expect.stringMatching(
    /^1 of 2 converted: 1 of 2 converted\. Not converted: truncated\.qcow2\. truncated/,
  );
  await expect.poll(() => notifications(page)).toEqual([['notification', text]]);
});

test('two elements in one page are two converters', { tag: '@full' }, async ({ page, servers }) => {
  await openHost(
    page,
    servers.plain,
    '<decant-converter id="a"></decant-converter><decant-converter id="b"></decant-converter>',
  );
  await page.locator('#a input[type=file]').setInputFiles(images.zlib());
  await page.locator('#b input[type=file]').setInputFiles(images.zstd());
  for (const id of ['a', 'b'])
    await expect(page.locator(`#${id}`).getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
});

test('removing the element ends its conversion, with an event', async ({ page, servers }) => {
  const stuck = UPLOAD.replace('parts.set(bytes, offset)', 'new Promise(() => {})');
  await openHost(page, servers.plain, '<decant-converter></decant-converter>', stuck);
  await choose(page, images.zlib());
  await page.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Cancel' })).toBeVisible();
  await page.evaluate(() => {
    const converter = document.querySelector('decant-converter')!;
    converter.addEventListener('decant-error', ({ detail }) => window.noted.events.push(['left', detail.kind]));
    converter.remove();
  });
  await expect.poll(async () => (await noted(page)).events.at(-1)).toEqual(['left', 'cancelled']);
  expect((await noted(page)).hash).toBe('aborted');
});

for (const [how, tag] of [
  ['append', ['@full']],
  ['moveBefore', ['@full']],
] as const) {
  test(`an element that is moved goes on, ${how}`, { tag: [...tag] }, async ({ page, servers }) => {
    serveGates(servers.plain);
    await openHost(page, servers.plain, '<decant-converter></decant-converter>', UPLOAD);
    await choose(page, sparse(64 << 20).image);
    const goOn = await begin(page);
    await page.evaluate((how) => {
      const place = document.body.appendChild(document.createElement('section'));
      const converter = document.querySelector('decant-converter')!;
      if (how === 'append') place.append(converter);
      else (place as unknown as { moveBefore(node: Node, before: null): void }).moveBefore(converter, null);
    }, how);
    await goOn();
    await expect(page.getByRole('heading', { name: /^Done:/ })).toBeVisible();
    const { hash, events } = await noted(page);
    expect(hash).toBe(hashFile(sparse(64 << 20).raw));
    expect(events.map(([type]) => type)).not.toContain('error');
    // It listens as before.
    await page.getByRole('button', { name: 'Convert another image' }).click();
    await drop(page, images.zlib());
    await expect(page.getByRole('button', { name: 'Convert', exact: true })).toBeVisible();
  });
}

test('the class can be used where there is no document', { tag: '@full' }, async () => {
  const url = fileURLToPath(new URL('../../dist/element.js', import.meta.url));
  const { DecantConverter } = (await import(url)) as { DecantConverter: new () => DecantConverterElement };
  expect(typeof DecantConverter).toBe('function');
  expect('customElements' in globalThis).toBe(false);
});
