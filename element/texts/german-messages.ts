// What the package says of failures and of images, in German, by codes. Of what has no sentence here, the kind is told in German,
// and the rest in English.

import { type ErrorKind, type Fields, type Notice, shownText } from 'decant';
import type { Failed } from './english.js';
import { sentence } from './sentences.js';
import type { Units } from './units.js';

type Sentence = string | ((fields: Fields) => string);

const name = (field: Fields[string]): string => shownText(String(field ?? '?'));

const KINDS: Record<ErrorKind, string> = {
  'not-recognised': 'Das ist kein Festplattenabbild, das Decant kennt.',
  unsupported: 'Das Abbild benutzt etwas, das Decant nicht liest.',
  corrupt: 'Das Abbild ist beschädigt.',
  limit: 'Das Abbild überschreitet eine Grenze.',
  'missing-file': 'Eine Datei fehlt, auf die das Abbild verweist.',
  password: 'Das Passwort fehlt oder passt nicht.',
  source: 'Das Abbild lässt sich nicht lesen.',
  sink: 'Das Ergebnis lässt sich nicht schreiben.',
  cancelled: 'Abgebrochen.',
  usage: 'Das geht hier nicht.',
  internal: 'In Decant oder im Browser ist etwas schiefgegangen.',
};

export function germanMessages({ size, binarySize }: Units) {
  const errors: Record<string, Sentence> = {
    empty: 'Die Datei ist leer.',
    'address-not-allowed': ({ host }) => `Der Server ${name(host)} darf nicht gefragt werden.`,
    'content-encoded': ({ coding }) =>
      `Der Server schickt die Datei kodiert (${name(coding)}), sodass sie sich nicht in Teilen lesen lässt.`,
    'http-status': ({ host, status }) => `Der Server ${name(host)} lehnt ab (Status ${name(status)}).`,
    'invalid-location': 'Der Server leitet an etwas weiter, das keine Adresse mit http oder https ist.',
    'invalid-url': 'Das ist keine Adresse mit http oder https.',
    'leaves-https': 'Der Server leitet von https zu http weiter. Das wird nicht befolgt.',
    'no-answer': ({ host }) => `Der Server ${name(host)} antwortet nicht oder bricht jedes Mal ab.`,
    'source-alternates': 'Mehrere Server haben verschiedene Fassungen der Datei. Öffnen Sie sie noch einmal.',
    'source-changed': 'Die Datei wurde geändert, während sie gelesen wurde. Öffnen Sie sie noch einmal.',
    'file-changed':
      'Das Ergebnis lässt sich nicht schreiben: die Datei hat sich geändert, oder ihr Name ist zu lang. Wählen Sie einen anderen Namen.',
    'file-in-use':
      'Das Ergebnis lässt sich nicht schreiben: die Datei ist anderswo geöffnet, vielleicht in einem anderen Tab, oder schreibgeschützt.',
    'folder-of-name': 'Das Ergebnis lässt sich nicht schreiben: es gibt einen Ordner mit diesem Namen.',
    'folder-read-only': ({ folder }) =>
      `Der Ordner ${name(folder)} ist schreibgeschützt. Wählen Sie einen anderen Ordner.`,
    'format-not-read': ({ format }) => `Dieses Format liest Decant nicht: ${name(format)}.`,
    'foreign-frame': 'Diese Seite liegt in der einer anderen Website: dort gibt der Browser ihr keinen Speicher.',
    'insecure-page': 'Das geht nur auf einer Seite, die über https kommt, oder auf localhost.',
    'missing-file': ({ file, neededBy }) => `${name(neededBy)} braucht die Datei ${name(file)}, die nicht dabei ist.`,
    'name-refused': ({ folder, name: file }) =>
      `Der Ordner ${name(folder)} nimmt keine Datei mit dem Namen ${name(file)}. Wählen Sie einen anderen Namen.`,
    'no-storage': 'Dieser Browser hat keinen eigenen Speicher für Seiten.',
    'not-a-disk':
      'Was darin liegt, ist in keinem Format, das Decant kennt, und nichts zeigt, dass es eine rohe Platte ist: weder eine Partitionstabelle noch ein Dateisystem, noch die Größe.',
    'not-an-image': ({ format }) =>
      `Das ist kein Festplattenabbild, sondern etwas anderes (${name(format)}). Vielleicht ist es statt des Abbilds heruntergeladen worden.`,
    'out-of-memory': 'Der Arbeitsspeicher reicht nicht. Schließen Sie andere Tabs.',
    'password-needed': ({ layer }) => `${name(layer)} ist verschlüsselt und braucht ein Passwort.`,
    'password-unconfirmed':
      'Ob das Passwort stimmt, lässt sich nicht prüfen: am Anfang der Platte steht nichts, was Decant kennt.',
    'password-wrong': 'Das Passwort ist falsch.',
    'place-gone':
      'Das Ergebnis lässt sich nicht schreiben: die Datei oder ihr Ordner ist nicht mehr da. Wählen Sie den Ort neu.',
    policy: ({ directive, source }) =>
      `Die Regeln dieser Seite (Content-Security-Policy) verbieten, was Decant braucht: ${name(directive)} muss ${name(source)} enthalten.`,
    'refused-storage': 'Der Browser gibt dieser Seite keinen Speicher, vielleicht weil das Fenster ein privates ist.',
    'sandboxed-downloads': 'Die Seite um diese herum erlaubt keine Downloads (sandbox ohne allow-downloads).',
    'sandboxed-frame': 'Die Seite um diese herum erlaubt ihr keinen Speicher (sandbox ohne allow-same-origin).',
    'size-needed':
      'Ein tar-Archiv nennt die Größe der Platte vor ihr, hier zeigt sie sich erst am Ende. Wählen Sie ein anderes Format, oder entpacken Sie das Abbild zuerst.',
    'source-unreadable':
      'Der Browser kann die Datei nicht mehr lesen: sie wurde wohl geändert, verschoben oder entfernt. Wählen Sie sie neu aus.',
    'state-format': ({ format }) => `Die Datei könnte eine Platte im Format ${name(format)} sein.`,
    'storage-full': ({ size: bytes }) =>
      typeof bytes === 'number'
        ? `Im Speicher des Browsers ist kein Platz für ${size(bytes)}. Schaffen Sie Platz, oder speichern Sie auf einem anderen Weg.`
        : 'Die Festplatte oder der Speicher des Browsers ist voll. Schaffen Sie Platz.',
    'storage-refused': 'Der Browser lässt diese Seite keine Dateien speichern.',
    'target-changed': 'Ein anderes Programm hat inzwischen in die Datei geschrieben. Wählen Sie einen anderen Namen.',
    truncated: 'Das Abbild ist abgeschnitten: die Datei endet zu früh. Vielleicht ist sie nicht ganz kopiert.',
    'vhd-too-large': 'Eine VHD fasst höchstens 2040 GiB, und diese Platte ist größer. Wählen Sie ein anderes Format.',
    'wasm-not-loaded': 'Ein Teil von Decant (WebAssembly) konnte nicht geladen werden. Laden Sie die Seite neu.',
    'worker-not-started': 'Ein Teil von Decant (ein Worker) konnte nicht starten. Laden Sie die Seite neu.',
    'writing-refused': 'Der Browser erlaubt nicht, dorthin zu schreiben. Wählen Sie den Ort neu.',
  };

  const outside = ({ file }: Fields) =>
    `Das Abbild nennt ${name(file)}, also eine Datei außerhalb seines Ordners. Sie wird nie von selbst geöffnet.`;

  const notices: Record<string, Sentence> = {
    'absolute-path': outside,
    'parent-path': outside,
    protocol: outside,
    'backing-file': ({ file }) => `Was das Abbild selbst nicht hat, liest es aus ${name(file)}.`,
    'backing-format': ({ file }) => `Das Abbild sagt nicht, welches Format ${name(file)} hat.`,
    corrupt: 'Das Abbild ist als beschädigt gekennzeichnet.',
    'data-file': ({ file }) => `Die Daten liegen in einer anderen Datei: ${name(file)}.`,
    dirty: 'Das Abbild wurde nicht richtig geschlossen.',
    'download-unconfirmed':
      'Um diese Seite liegt die einer anderen Website. Erlaubt sie keine Downloads, hat der Browser diesen verworfen.',
    expanding: 'Komprimierte Daten werden weit größer als die Datei.',
    extent: ({ file }) => `Ein Teil der Platte liegt in ${name(file)}.`,
    extents: ({ count }) => `Teile der Platte liegen in ${count} anderen Dateien.`,
    'guessed-raw': ({ file, container }) =>
      `${file === undefined && container === undefined ? 'Der Inhalt' : name(file ?? container)} ist in keinem Format, das Decant kennt, und wird als rohe Platte gelesen.`,
    huge: ({ size: bytes }) => `Die Platte hat ${size(Number(bytes))}, weit mehr als ihre Datei.`,
    shared: 'Teile der Datei gehören zu vielen Stellen der Platte.',
    'size-mismatch': ({ descriptor, header }) =>
      `Zwei Stellen des Abbilds nennen verschiedene Größen: ${size(Number(descriptor))} und ${size(Number(header))}. Die zweite gilt.`,
    'source-not-verified': 'Ändert sich das Abbild beim Konvertieren, wird es vielleicht nicht bemerkt.',
    'unknown-descriptor-version': ({ version }) =>
      `Der Deskriptor hat eine Version, die Decant nicht kennt: ${name(version)}.`,
    'unknown-features': 'Das Abbild benutzt unbekannte Funktionen, die das Lesen nicht hindern.',
    'unknown-io-filter': ({ filters }) =>
      `Beim Schreiben war ein I/O-Filter beteiligt (${name(filters)}), der Daten verändert haben kann.`,
  };

  const told = (sentences: Record<string, Sentence>, code: string, fields: Fields): string | undefined => {
    const found = Object.hasOwn(sentences, code) ? sentences[code] : undefined;
    return typeof found === 'function' ? found(fields) : found;
  };

  const failure = ({ kind, code, fields, message }: Failed): string => {
    const found = told(errors, code, fields);
    // What the page around says itself is in its language.
    const text =
      found ??
      (code === 'from-page' ? sentence(message) : `${KINDS[kind]} Auf Englisch: ${sentence(fields.reason ?? message)}`);
    return fields.file === undefined || kind === 'missing-file' ? text : `${name(fields.file)}: ${text}`;
  };

  const notice = ({ code, fields, message }: Notice, hasGpt: boolean | undefined): string => {
    if (code !== 'disk-grows') return told(notices, code, fields) ?? `Auf Englisch: ${sentence(message)}`;
    const [added, unit] = [size(Number(fields.added)), binarySize(Number(fields.unit))];
    const grows = `Die Platte wächst um ${added} Nullen: ihre Größe muss ein Vielfaches von ${unit} sein.`;
    if (hasGpt === undefined) return `${grows} Hat sie eine GPT, liegt deren Kopie dann nicht mehr am Ende.`;
    return hasGpt ? `${grows} Die Kopie ihrer GPT liegt dann nicht mehr am Ende.` : grows;
  };

  return { failure, notice };
}
