// The texts of the page in each language.

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
interface Language {
  /** What index.html has in English. */
  page?: { lang: string; title: string; licences: string };
  reasons: typeof reasons;
}

const english: Language = { reasons };

const german: Language = {
  page: {
    lang: 'de',
    title: 'Decant: Festplattenabbilder im Browser konvertieren',
    licences: 'Lizenzen',
  },
  reasons: {
    insecure: 'die Seite kam nicht über https, deshalb lässt dieser Browser sie keinen Download streamen',
    none: 'dieser Browser, oder dieses private Fenster, lässt die Seite keinen Download streamen',
    notReady:
      'der Service Worker dieser Seite ist noch nicht bereit; laden Sie die Seite neu und versuchen Sie es noch einmal',
    otherVersion:
      'eine andere Version dieser Seite ist noch offen; schließen Sie deren Tabs, laden Sie diesen neu und versuchen Sie es noch einmal',
    notLoaded: 'der Code dafür konnte nicht geladen werden; versuchen Sie es noch einmal oder laden Sie die Seite neu',
    notBegun: 'der Browser hat den Download nicht begonnen',
    ended: 'der Browser hat den Service Worker dieser Seite beendet; der Download ist fehlgeschlagen',
  },
};

/** By BCP 47 tags, without a region. */
const OTHERS: Record<string, Language> = { de: german };

/** The language that the person prefers, or English if there is none. */
export function language(): Language {
  const [primary = ''] = (navigator.languages?.[0] ?? '').toLowerCase().split('-');
  return (Object.hasOwn(OTHERS, primary) && OTHERS[primary]) || english;
}
