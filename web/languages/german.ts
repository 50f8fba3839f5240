// The page in German.

import type { Language } from './english.js';

export const german: Language = {
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
