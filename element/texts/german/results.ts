// The German texts from the start of a conversion on.

import { shownText } from 'decant';
import type { ResultTexts } from '../../types.texts-results.js';
import { commaSeparated } from '../wording.js';
import { duration, roughly, size } from './amounts.js';

export const germanResults: ResultTexts = {
  phase: { converting: 'Wird konvertiert', finishing: 'Wird abgeschlossen', verifying: 'Wird geprüft' },
  working: (phase, name) => `${phase}: ${shownText(name)}`,
  share: (share) => `${Math.floor(share * 100)}\u00a0%`,
  converted: (share) => `${Math.round(share * 100)} Prozent fertig`,
  compared: (share) => `${Math.round(share * 100)} Prozent verglichen`,
  speed: (bytesPerSecond, method) => `${size(bytesPerSecond)}/s ${method === 'streamed' ? 'der Platte' : 'an Daten'}`,
  left: (seconds) => `noch etwa ${duration(seconds)}`,
  leftUnknown: 'fast fertig',
  silent: (seconds) =>
    `Seit ${duration(seconds)} keine Daten aus dem Netz. Es geht weiter, wenn das Netz wieder da ist.`,
  silentShort: 'Das Netz ist ausgefallen. Es geht weiter, wenn es wieder da ist.',
  stalled: (seconds) =>
    `Seit ${duration(seconds)} wurde nichts konvertiert: ein Datenträger oder Server antwortet nicht, oder die Dateien dieser Seite wurden entfernt. Bleibt es dabei, brechen Sie ab und konvertieren Sie noch einmal.`,
  stalledShort: 'Kein Fortschritt. Brechen Sie ab und konvertieren Sie noch einmal.',
  waiting: ({ host, status, attempt, completing, offline }) => {
    if (offline) return 'Dieses Gerät ist offline. Decant versucht es wieder.';
    if (completing) return `Der Server ${shownText(host)} hat alles empfangen und schließt den Upload ab.`;
    if (attempt === 0) return `Der Server ${shownText(host)} sendet nichts. Decant versucht es wieder.`;
    const answer =
      status === undefined
        ? 'antwortet nicht oder bricht die Verbindung ab'
        : `antwortet mit einem Fehler (Status ${status})`;
    return `Der Server ${shownText(host)} ${answer}. Bisher ${attempt === 1 ? 'ein Versuch' : `${attempt} Versuche`}; Decant versucht es wieder.`;
  },
  waitingShort: ({ host, offline }) =>
    offline ? 'Dieses Gerät ist offline.' : `Warten auf den Server ${shownText(host)}.`,
  finishing: 'Der Browser prüft die ganze Datei und sagt nicht, wie weit er ist.',
  mayClose: (name) =>
    `Sie können jetzt noch ein Abbild konvertieren oder diesen Tab schließen: der Browser stellt ${shownText(name)} fertig, solange er offen bleibt.`,
  quitToStop: (name, replaces) =>
    `Zum Anhalten beenden Sie den Browser: ${shownText(name)} ist dann ${replaces ? 'unverändert' : 'eine leere Datei'}.`,
  background: 'Im Hintergrund',
  checking: (seconds, secondsLeft) =>
    `der Browser prüft die Datei: bisher ${duration(seconds)}${secondsLeft === undefined ? '' : `, noch etwa ${duration(secondsLeft)}`}`,
  cancel: 'Abbrechen',
  cancelling: 'Wird abgebrochen',
  cancelWaits: 'Der Browser lässt sich jetzt nicht anhalten. Die Datei wird gleich danach entfernt.',
  cancelTooLate: 'Zu spät zum Abbrechen: die Datei wird vollständig.',
  wasTooLate: 'Zu spät zum Abbrechen: die Datei ist vollständig.',
  keepOpen: 'Lassen Sie diesen Tab offen.',
  notify: 'Benachrichtigen, wenn es fertig ist',
  notifyRefused: 'Der Browser erlaubt keine Benachrichtigungen.',

  done: 'Fertig',
  doneDamaged: 'Fertig, aber die Platte ist beschädigt',
  doneSaving: 'Fertig konvertiert; der Browser speichert noch',
  verified: {
    'read-back': 'Geprüft: Jedes Byte der Platte wurde zurückgelesen und verglichen.',
    checksums: 'Geprüft: Die Prüfsummen des Servers passen zu den gesendeten Bytes.',
  },
  tableMoved: 'Die Platte ist jetzt größer: ihre Partitionstabelle steht am neuen Ende. Alles andere ist unverändert.',
  madeIn: (place) => {
    switch (place.kind) {
      case 'folder':
        return `im Ordner ${shownText(place.folder.name)}`;
      case 'dialog':
        return 'am ausgewählten Ort';
      case 'host':
        return 'an diese Seite übergeben';
      case 'streamed':
      case 'stored':
        return 'in Ihren Downloads';
    }
  },
  place: (place, copying) => {
    switch (place.kind) {
      case 'folder':
        return `${shownText(place.name)} ist im Ordner ${shownText(place.folder.name)}.`;
      case 'dialog':
        return `${shownText(place.name)} wurde am ausgewählten Ort gespeichert.`;
      case 'host':
        return `Diese Seite hat ${shownText(place.name)} vollständig erhalten.`;
      case 'streamed':
        return `Der Browser hat ${shownText(place.name)} vollständig erhalten. Seine Downloads zeigen, wann die Datei fertig ist.`;
      case 'stored':
        return `Der Browser kopiert ${shownText(place.name)} zu Ihren Downloads${copying && copying >= 2 ? `, wahrscheinlich ${roughly(copying)}` : ''}. Lassen Sie diesen Tab offen, bis sie dort vollständig ist.`;
    }
  },
  copied: (name) =>
    `Der Browser hat ${shownText(name)} zu Ihren Downloads kopiert. Sie zeigen, ob die Datei vollständig ist.`,
  copyKept: (bytes, seconds) =>
    `${size(bytes)} im Speicher des Browsers, entfernt in etwa ${duration(seconds)} oder wenn die Seite wieder geöffnet wird`,
  details: 'Einzelheiten',
  facts: {
    disk: 'Platte',
    written: 'Geschrieben',
    time: 'Gesamtzeit',
    converting: 'Konvertierungszeit',
    copy: 'Zwischenkopie',
    method: 'Gespeichert durch',
    engine: 'Ausgeführt von',
    threads: 'Threads',
  },
  writtenValue: (result, method) =>
    method === 'picked' && result.holeBytes > 0
      ? `${size(result.bytesWritten)} und ${size(result.holeBytes)} Lücken`
      : size(method === 'host' ? result.bytesWritten : result.outputSize),
  timeValue: (seconds) => (seconds < 1 ? 'weniger als eine Sekunde' : duration(seconds)),
  convertingValue: (seconds, speed, method) =>
    commaSeparated(germanResults.timeValue(seconds), speed !== undefined && germanResults.speed(speed, method)),
  methodValue: {
    picked: 'Schreiben der Daten an den ausgewählten Ort',
    stored: 'Schreiben in den Speicher des Browsers, dann Kopieren',
    streamed: 'Herunterladen beim Konvertieren',
    host: 'diese Seite',
  },
  engineValue: ({ engine, workers }) => {
    if (engine === 'threads') return `${workers} Threads mit gemeinsamem Speicher`;
    return workers === 1 ? 'ein Worker' : `${workers} Worker`;
  },
  notIsolated: 'nicht verwendet: der Server dieser Seite erlaubt keinen gemeinsamen Speicher',
  convertAnother: 'Noch ein Abbild konvertieren',
  nextStep: (place, shell) => `Als Nächstes, für ${place}${shell === 'powershell' ? ', in der PowerShell' : ''}`,
  fromStep: (placeholder, step) => `${placeholder}: aus Schritt ${step}`,
  copy: 'Kopieren',
  copyAll: 'Alles kopieren',
  compute: 'SHA-256 berechnen',
  computing: 'SHA-256 wird berechnet',
  copyDone: 'Kopiert.',
  copyFailed: 'Der Browser lässt diese Seite nicht kopieren: markieren Sie den Text.',

  failed: 'Das hat nicht funktioniert',
  isRaw: (name) => `Ist ${shownText(name)} eine rohe Platte?`,
  notOpened: (name) => `${shownText(name)} konnte nicht geöffnet werden`,
  notConverted: (name) => `${shownText(name)} konnte nicht konvertiert werden`,
  cancelled: 'Abgebrochen.',
  nothingLeft: 'Nichts ist zurückgeblieben.',
  partKept:
    'Der Speicher des Browsers behält den fertigen Teil eine Woche. Zum Fortsetzen konvertieren Sie das Abbild noch einmal.',
  stillStored: (bytes) =>
    `${size(bytes)} sind noch im Speicher des Browsers. Er gibt sie frei, sobald er kann, spätestens wenn die Seite wieder geöffnet wird.`,
  streamLeft: (name) =>
    `Der Download von ${shownText(name)} wurde nicht fertig. Hat der Browser einen Teil behalten, löschen Sie ihn: er ist keine vollständige Platte.`,
  asItWas: (name) => `${shownText(name)} ist unverändert.`,
  emptyLeft: (name) => `Eine leere Datei ist zurückgeblieben: ${shownText(name)}.`,
  fileLeft: (name) => `${shownText(name)} ist vielleicht verändert oder unvollständig.`,
  fileInFolderLeft: (folder, name, swap) =>
    `${shownText(name)} ist vielleicht verändert oder unvollständig. Haben Sie den Ordner ${shownText(folder)} verschoben und ein anderer heißt jetzt so, löschen Sie im verschobenen ${shownText(swap)}, und ${shownText(name)}, falls sie leer ist.`,
  folderMoved: (folder, name, swap, replaces) =>
    replaces
      ? `Der Ordner ${shownText(folder)} wurde verschoben, umbenannt oder entfernt. ${shownText(name)} darin ist unverändert. Löschen Sie ${shownText(swap)} daneben.`
      : `Der Ordner ${shownText(folder)} wurde verschoben, umbenannt oder entfernt. Löschen Sie ${shownText(name)} und ${shownText(swap)} darin: keine davon ist eine vollständige Platte.`,
  fileMoved: (name, swap) =>
    `${shownText(name)} oder der Ordner dazu wurde verschoben, umbenannt oder entfernt. Löschen Sie die Datei und ${shownText(swap)} daneben: keine davon ist eine vollständige Platte.`,
  unknownLeft: (name) => `Vielleicht ist bei ${shownText(name)} etwas zurückgeblieben.`,
  next: {
    raw: 'Als rohe Platte lesen',
    salvage: 'Lesbare Teile retten',
    again: 'Noch einmal versuchen',
    saveAgain: 'Zurück zum Abbild',
    filesAgain: 'Die Dateien dazu neu auswählen',
    editLink: 'Link ändern',
    next: 'Nächstes Abbild öffnen',
    another: 'Eine andere Datei wählen',
  },
};
