// Reasons why a download is not streamed, in the person's language. Each follows a colon and has no full stop.

import { isGerman } from '../language.js';

const english = {
  insecure: 'the page was not loaded over https, so this browser does not let it stream a download',
  none: 'this browser, or this private window, does not let the page stream a download',
  notReady: 'the service worker of this page is not ready yet; reload the page and try again',
  otherVersion: 'another version of this page is still open; close its other tabs, reload this one and try again',
  notLoaded: 'the code for it could not be loaded; try again, or reload the page',
  notBegun: 'the browser did not start the download',
  ended: 'the browser ended the service worker of this page, so the download failed',
};

const german: typeof english = {
  insecure: 'die Seite kam nicht über https, deshalb lässt dieser Browser sie keinen Download streamen',
  none: 'dieser Browser, oder dieses private Fenster, lässt die Seite keinen Download streamen',
  notReady:
    'der Service Worker dieser Seite ist noch nicht bereit; laden Sie die Seite neu und versuchen Sie es noch einmal',
  otherVersion:
    'eine andere Version dieser Seite ist noch offen; schließen Sie deren Tabs, laden Sie diesen neu und versuchen Sie es noch einmal',
  notLoaded: 'der Code dafür konnte nicht geladen werden; versuchen Sie es noch einmal oder laden Sie die Seite neu',
  notBegun: 'der Browser hat den Download nicht begonnen',
  ended: 'der Browser hat den Service Worker dieser Seite beendet; der Download ist fehlgeschlagen',
};

export const reasons = (): typeof english => (isGerman() ? german : english);
