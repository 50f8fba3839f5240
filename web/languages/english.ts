// The page in English, and what the other languages have.

/** Reasons why a download is not streamed. Each follows a colon and has no full stop. */
const reasons = {
  insecure: 'the page was not loaded over https, so this browser does not let it stream a download',
  none: 'this browser, or this private window, does not let the page stream a download',
  notReady: 'the service worker of this page is not ready yet; reload the page and try again',
  otherVersion: 'another version of this page is still open; close its other tabs, reload this one and try again',
  notLoaded: 'the code for it could not be loaded; try again, or reload the page',
  notBegun: 'the browser did not start the download',
  ended: 'the browser ended the service worker of this page, so the download failed',
};

/** The texts of the page in a language. */
export interface Language {
  /** What index.html has in English. */
  page?: { lang: string; title: string; licences: string };
  reasons: typeof reasons;
}

export const english: Language = { reasons };
