// Opens the folded parts of the page, so that tests find what is in them.

import type { BrowserContext, Page } from '@playwright/test';

const FOLDS =
  'decant-converter details.fold:not([open]) > summary, decant-converter :is(.links, .made) [aria-expanded=false]';

function keepOpen(page: Page): void {
  const folds = page.locator(FOLDS);
  const open = () =>
    folds.evaluateAll((all) => {
      for (const one of all) (one as HTMLElement).click();
    });
  const handling = page.addLocatorHandler(folds.first(), open, { noWaitAfter: true });
  // The page may be closed by now.
  handling.catch(() => {});
}

/** Opens them in all pages of `context`, before each action and check. */
export function openFolds(context: BrowserContext): void {
  for (const page of context.pages()) keepOpen(page);
  context.on('page', keepOpen);
}
