// German sentences, by the codes of docs/errors.md.

import type { Fields } from 'decant';
import { INPUTS } from '../../formats.js';
import { bytes, name, type Sentences, UNFILLED } from '../sentences.js';
import type { Units } from '../wording.js';
import { FOREIGN, knownIn, STRANGERS } from './formats.js';

/** Says how a server refuses a request, without a full stop. */
function refusal(host: string, status: Fields[string], isUpload: boolean): string {
  switch (status) {
    case 401:
      return `Der Server ${host} verlangt eine Anmeldung`;
    case 403:
      return `Der Server ${host} erlaubt das nicht, oder die Adresse ist abgelaufen`;
    case 404:
      if (isUpload) return `Auf dem Server ${host} gibt es diesen Ort nicht, oder der Upload ist abgelaufen`;
      return `Auf dem Server ${host} gibt es diese Datei nicht`;
    case 407:
      return `Der Proxy ${host} verlangt eine Anmeldung`;
    case 410:
      if (isUpload) return `Auf dem Server ${host} ist der Upload abgelaufen`;
      return `Auf dem Server ${host} gibt es diese Datei nicht mehr`;
    case 412:
      return isUpload ? `Auf dem Server ${host} liegt dort schon etwas` : `Der Server ${host} lehnt ab`;
    case 413:
      return isUpload ? `Der Server ${host} nimmt keine Datei dieser Größe` : `Der Server ${host} lehnt ab`;
    case 429:
      return `Der Server ${host} bekommt zu viele Anfragen`;
    case 507:
      return `Der Server ${host} ist voll`;
    default:
      if (typeof status === 'number' && status >= 500) return `Der Server ${host} hat einen Fehler oder ist überlastet`;
      return `Der Server ${host} lehnt ab`;
  }
}

const TIB = 2 ** 40;

/** Advice after a file that has nothing to do with a disk image. */
export const INSTEAD = 'Öffnen Sie stattdessen eines, etwa eine .qcow2-, .vmdk-, .vdi- oder .vhdx-Datei.';

const listed = (names: string[]): string => `${names.slice(0, -1).join(', ')} und ${names.at(-1)}`;

export function germanErrors({ size, duration }: Units): Sentences {
  return {
    empty: 'Die Datei ist leer.',
    corrupt: ({ damage, offset }) => {
      const known = typeof damage === 'string' && Object.hasOwn(germanDamage, damage) ? damage : undefined;
      return `Das Abbild ist beschädigt: ${known ? germanDamage[known] : UNFILLED} (bei Byte ${name(offset)} der Datei).`;
    },
    'not-recognised': `Die Datei ist in keinem Format, das Decant kennt. Es liest ${listed(INPUTS.filter((input) => input !== 'raw'))}, auch in Archiven.`,
    'other-format': ({ format }) => `Die Datei hat nicht das angegebene Format: ${name(format)}.`,
    'unknown-version': ({ format, version }) =>
      `Decant liest diese Version des Formats nicht: ${name(format)} ${name(version)}.`,
    'unknown-feature': ({ bit }) =>
      `Das Abbild benutzt eine Funktion, die Decant nicht kennt (Bit ${name(bit)}) und ohne die es sich nicht lesen lässt.`,
    'unknown-required': 'Das Abbild hat einen Teil, den Decant nicht kennt und ohne den es sich nicht lesen lässt.',
    'wrong-parent': ({ wanted, found }) =>
      `Das ist nicht die Datei, auf der das Abbild aufbaut, oder sie wurde seither geändert: Erwartet wird ${name(wanted)}, sie hat ${name(found)}. Wählen Sie die richtige.`,
    'parent-unverifiable': ({ neededBy }) =>
      `${name(neededBy)} sagt nicht, auf welcher Datei es aufbaut. Ob es diese ist, lässt sich nicht prüfen.`,
    'vhd-footers-differ': ({ size: first, otherSize }) =>
      `Zwei Stellen des Abbilds nennen verschiedene Größen der Platte: ${bytes(first, size)} und ${bytes(otherSize, size)}.`,
    'gzip-damaged': 'Die komprimierten Daten (gzip) sind beschädigt. Laden oder kopieren Sie die Datei noch einmal.',
    'xz-damaged': 'Die komprimierten Daten (xz) sind beschädigt. Laden oder kopieren Sie die Datei noch einmal.',
    'zstd-damaged': 'Die komprimierten Daten (zstd) sind beschädigt. Laden oder kopieren Sie die Datei noch einmal.',
    'bzip2-damaged': 'Die komprimierten Daten (bzip2) sind beschädigt. Laden oder kopieren Sie die Datei noch einmal.',
    'lz4-damaged': 'Die komprimierten Daten (lz4) sind beschädigt. Laden oder kopieren Sie die Datei noch einmal.',
    'zip-damaged': 'Das Zip-Archiv ist beschädigt. Laden oder kopieren Sie es noch einmal.',
    'zip-duplicate': 'In dem Zip-Archiv tragen mehrere Dateien denselben Namen. Entpacken Sie die Platte zuerst.',
    encrypted: ({ by }) =>
      `Die Platte ist verschlüsselt (${name(by)}), was Decant nicht liest. Entschlüsseln Sie sie dort zuerst.`,
    'zip-encrypted': 'Das Zip-Archiv ist verschlüsselt. Entpacken Sie es zuerst.',
    'zip-headers-differ': 'Das Zip-Archiv widerspricht sich. Laden oder kopieren Sie es noch einmal.',
    'zip-method': 'Das Zip-Archiv ist auf eine Weise komprimiert, die Decant nicht liest. Entpacken Sie es zuerst.',
    'zip-overlap': 'In dem Zip-Archiv überlappen sich Dateien. Laden oder kopieren Sie es noch einmal.',
    'zip-part': ({ parts }) =>
      `Die Datei ist der letzte von ${name(parts)} Teilen eines Zip-Archivs. Fügen Sie die Teile zuerst zusammen (zip -s 0 in.zip --out whole.zip).`,
    'luks-header-only':
      'Die Datei enthält nur den Kopf eines LUKS-Datenträgers, nicht die verschlüsselte Platte. Sie ist eine Sicherung des Kopfes oder unvollständig.',
    'luks-memory': ({ size: needed }) =>
      `Um ein Passwort zu prüfen, braucht das Abbild ${bytes(needed, size)} Speicher, mehr als Decant dafür nimmt (${size(2 ** 30)}).`,
    'window-too-large': `Die Datei braucht zum Entpacken mehr Speicher, als Decant dafür nimmt (${size(128 * 2 ** 20)}). Entpacken Sie sie zuerst.`,
    'not-in-order': ({ container }) =>
      container === undefined
        ? 'Dieses Abbild lässt sich nicht aus einem Datenstrom lesen. Speichern Sie es zuerst als Datei.'
        : `Der Inhalt der Datei (${name(container)}) lässt sich nur der Reihe nach entpacken, was für dieses Abbild nicht reicht. Entpacken Sie die Datei zuerst.`,
    'needs-spool': ({ format, container }) =>
      `${container === undefined ? 'Der Datenstrom' : `Die Datei (${name(container)})`} enthält ${name(format)} und muss erst entpackt werden.`,
    'several-files':
      'Das Archiv ist komprimiert, und es ist unklar, welche seiner Dateien die Platte ist. Entpacken Sie es zuerst, und öffnen Sie dann die Platte.',
    'address-not-allowed': ({ host }) => `Anfragen an den Server ${name(host)} sind nicht erlaubt.`,
    'content-encoded': ({ coding }) =>
      `Der Server schickt die Datei kodiert (${name(coding)}), sodass sie sich nicht sicher lesen lässt.`,
    'http-status': ({ host, status, retryAfter }, kind) => {
      const reason = refusal(name(host), status, kind === 'target');
      const wait = typeof retryAfter === 'number' ? ` Er bittet, ${duration(retryAfter)} zu warten.` : '';
      return `${reason} (Status ${name(status)}).${wait}`;
    },
    'invalid-location': 'Der Server leitet zu einer Adresse weiter, die nicht mit http oder https beginnt.',
    'invalid-url': 'Das ist keine Adresse mit http oder https.',
    'leaves-https': 'Der Server leitet von https zu http weiter. Decant folgt dieser Weiterleitung nicht.',
    'no-answer': ({ host }) =>
      `Die Verbindung zu ${name(host)} kommt nicht zustande oder bricht ab: weil das Netz fehlt, weil der Server nicht antwortet, oder weil er dieser Seite keinen Zugriff erlaubt (CORS). Der Browser unterscheidet das nicht.`,
    'timed-out': 'Das hat länger gedauert als erlaubt.',
    'too-many-redirects': ({ host, cookie }) =>
      cookie === true
        ? `Der Server ${name(host)} leitet immer weiter. Vermutlich verlangt er das Cookie, das er dabei setzt.`
        : `Der Server ${name(host)} leitet immer weiter.`,
    redirected: ({ host, location }) =>
      location === undefined
        ? `Der Server ${name(host)} leitet den Upload an eine andere Adresse weiter.`
        : `Der Server ${name(host)} leitet den Upload weiter. Nehmen Sie diese Adresse: ${name(location)}.`,
    'source-alternates': 'Mehrere Server haben verschiedene Fassungen der Datei. Öffnen Sie sie noch einmal.',
    'source-changed': 'Die Datei wurde geändert, während sie gelesen wurde. Öffnen Sie sie noch einmal.',
    'maybe-extent':
      'Die Datei ist in keinem Format, das Decant kennt. Ist sie ein Teil einer VMDK, öffnen Sie deren Deskriptor, eine kleine .vmdk-Datei, zusammen mit dieser.',
    'descriptor-missing':
      'Das ist ein Teil einer VMDK, der ohne ihren Deskriptor keine Platte ist. Öffnen Sie den Deskriptor, eine kleine .vmdk-Datei, zusammen mit dieser.',
    'file-changed':
      'Das Ergebnis lässt sich nicht schreiben: die Datei hat sich geändert, oder ihr Name ist zu lang. Wählen Sie einen anderen Namen.',
    'file-in-use':
      'Das Ergebnis lässt sich nicht schreiben: die Datei ist anderswo geöffnet, vielleicht in einem anderen Tab, oder schreibgeschützt.',
    'folder-of-name': 'Das Ergebnis lässt sich nicht schreiben: es gibt einen Ordner mit diesem Namen.',
    'folder-read-only': ({ folder }) =>
      `Der Ordner ${name(folder)} ist schreibgeschützt. Wählen Sie einen anderen Ordner.`,
    'format-not-read': ({ format }) => {
      const [known, advice] = knownIn(FOREIGN, format) ?? [`eine Datei im Format ${name(format)}`];
      return `Das ist ${known}. Decant liest dieses Format nicht.${advice ? ` ${advice}` : ''}`;
    },
    'foreign-frame':
      'Diese Seite ist in eine Seite einer anderen Website eingebettet: dort gibt der Browser ihr keinen Speicher.',
    'insecure-page': 'Das geht nur auf einer Seite, die über https kommt, oder auf localhost.',
    'later-part': ({ first }) =>
      `Das ist ein späterer Teil einer geteilten Datei. Öffnen Sie den ersten, ${name(first)}, zusammen mit den anderen.`,
    'missing-file': ({ file, neededBy, role, container }) => {
      if (container !== undefined) return `${name(file)} fehlt im Archiv.`;
      return role === 'part'
        ? `${name(file)} fehlt, ein Teil der Datei. Öffnen Sie alle Teile noch einmal zusammen, auch diesen.`
        : `${name(neededBy)} braucht die Datei ${name(file)}, die nicht dabei ist.`;
    },
    'name-refused': ({ folder, name: file }) =>
      `Im Ordner ${name(folder)} ist der Dateiname ${name(file)} nicht möglich. Wählen Sie einen anderen Namen.`,
    'other-disk-size': ({ size: expected }) =>
      `Die Platte hat nicht die ${bytes(expected, size)}, die ihr Container nennt oder die vorher gezählt wurden. Entpacken Sie das Abbild zuerst.`,
    'no-storage': 'Dieser Browser hat keinen eigenen Speicher für Seiten.',
    'not-a-disk':
      'Der Inhalt ist in keinem Format, das Decant kennt, und sieht nicht wie eine rohe Platte aus: er hat weder eine Partitionstabelle noch ein bekanntes Dateisystem, und seine Größe ist kein Vielfaches von 512\u00a0Bytes. Ist er eine rohe Platte, entpacken Sie ihn zuerst.',
    'not-an-image': ({ format }) => {
      const [known, advice = INSTEAD] = knownIn(STRANGERS, format) ?? [`etwas anderes (${name(format)})`];
      return `Das ist kein Festplattenabbild, sondern ${known}. ${advice}`;
    },
    'out-of-memory': 'Der Arbeitsspeicher reicht nicht. Schließen Sie andere Tabs.',
    'output-changed':
      'Die Seite hat geändert, wohin die Platte geht. Nichts wurde gespeichert. Öffnen Sie das Abbild noch einmal.',
    'output-unreadable':
      'Diese Seite will die Platte selbst entgegennehmen, ist aber falsch eingerichtet. Nichts wird umgewandelt, und nichts wird gespeichert. Sagen Sie es dem Betreiber der Seite: was „output“ heißt, muss ein Skript setzen.',
    'password-needed': ({ layer }) => `${name(layer)} ist verschlüsselt und braucht ein Passwort.`,
    'password-unconfirmed':
      'Ob das Passwort stimmt, lässt sich nicht prüfen: am Anfang der Platte steht nichts, was Decant kennt.',
    'password-wrong': 'Das Passwort ist falsch.',
    'place-gone':
      'Das Ergebnis lässt sich nicht schreiben: die Datei oder ihr Ordner ist nicht mehr da, oder eine Verknüpfung heißt so. Wählen Sie einen anderen Namen oder Ort.',
    'parts-ambiguous': ({ first, second }) =>
      `${name(first)} und ${name(second)} heißen wie Teile, können aber auch verschiedene Dateien sein: Legen Sie nur ab, was zusammengehört, oder fügen Sie die Teile vorher zusammen.`,
    'parts-needed': ({ first, last, count }) => {
      const which =
        count === 1 ? `ist ${name(first)} der erste Teil` : `sind ${name(first)} bis ${name(last)} die ersten Teile`;
      return `Das Abbild ist abgeschnitten. Dem Namen nach ${which} einer geteilten Datei: öffnen Sie alle Teile zusammen.`;
    },
    policy: ({ directive, source }) => {
      const missing = source === undefined ? 'auch die Adresse, zu der der Server weiterleitet,' : name(source);
      return `Die Regeln dieser Seite (Content-Security-Policy) verbieten, was Decant braucht: ${name(directive)} muss ${missing} enthalten.`;
    },
    'refused-storage': 'Der Browser gibt dieser Seite keinen Speicher, vielleicht weil das Fenster ein privates ist.',
    'sandboxed-downloads':
      'Die Seite, in die diese eingebettet ist, erlaubt keine Downloads (sandbox ohne allow-downloads).',
    'sandboxed-frame':
      'Die Seite, in die diese eingebettet ist, erlaubt ihr keinen Speicher (sandbox ohne allow-same-origin).',
    'size-needed':
      'Dieses Format nennt die Größe der Platte am Anfang, hier ist sie aber erst am Ende bekannt. Wählen Sie ein anderes Format, oder speichern Sie das Abbild zuerst als Datei.',
    'size-smaller': 'Eine Platte kann nur größer werden, nicht kleiner.',
    'source-unreadable':
      'Der Browser kann die Datei nicht mehr lesen: sie wurde wohl geändert, verschoben oder entfernt. Wählen Sie sie neu aus.',
    'state-format': 'Das Format der Datei wird nicht erkannt.',
    'storage-busy': ({ stored }) =>
      `${typeof stored === 'number' ? size(stored) : 'Eine Datei'} im Speicher des Browsers lässt sich noch nicht entfernen. Der Browser entfernt sie später.`,
    'storage-in-use': 'Ein anderer Tab verwendet diesen Teil der Platte. Er bleibt.',
    'storage-full': ({ size: needed }) =>
      `Die Festplatte oder der Speicher des Browsers ${typeof needed === 'number' ? `hat keinen Platz für ${size(needed)}` : 'ist voll'}. Schaffen Sie Platz, oder speichern Sie auf einem anderen Weg.`,
    'storage-refused': 'Der Browser lässt diese Seite keine Dateien speichern.',
    'target-changed': 'Ein anderes Programm hat inzwischen in die Datei geschrieben. Wählen Sie einen anderen Namen.',
    truncated: 'Das Abbild ist abgeschnitten: die Datei endet zu früh. Vielleicht ist sie nicht ganz kopiert.',
    'ambiguous-format':
      'Die Datei beginnt in einem Format und endet in einem anderen, als VHD fester Größe. Welches stimmt, lässt sich nicht feststellen.',
    'ascending-only':
      'Dieses Format schreibt seinen Anfang zuletzt, und das Ziel nimmt Daten nur der Reihe nach. Wählen Sie ein anderes Format.',
    'gpt-damaged':
      'Die Partitionstabelle (GPT) der Platte ist beschädigt. Ihre Kopie wird deshalb nicht an das neue Ende verschoben.',
    'qcow2-full': 'Die Datei wird zu groß für Cluster dieser Größe.',
    'qcow2-too-large': 'Diese Platte ist zu groß für qcow2 mit Clustern dieser Größe.',
    'vmdk-full': `Eine VMDK-Datei fasst höchstens ${size(2 * TIB)}. Wählen Sie ein anderes Format.`,
    'vmdk-too-large': `Eine VMDK fasst höchstens ${size(62 * TIB)}, und diese Platte ist größer. Wählen Sie ein anderes Format.`,
    'vhd-other-size': ({ size: stated }) =>
      `Das Abbild ist beschädigt: Laut seinem Ende hat die Platte ${bytes(stated, size)}, tatsächlich hat sie eine andere Größe.`,
    'vhdx-log':
      'Das Abbild wurde nicht richtig geschlossen, und sein Protokoll ist beschädigt. Eine Rettung liest es ohne die letzten Änderungen.',
    'vdi-too-large': `Decant schreibt eine VDI von höchstens ${size(8 * TIB)}, und diese Platte ist größer. Wählen Sie ein anderes Format.`,
    'vhdx-too-large': ({ blockSize }) =>
      blockSize === undefined
        ? `Eine VHDX fasst höchstens ${size(64 * TIB)}, und diese Platte ist größer. Wählen Sie ein anderes Format.`
        : 'Diese Platte ist zu groß für eine VHDX mit Blöcken dieser Größe.',
    'vhd-too-large': `Eine VHD fasst höchstens ${size(2040 * 2 ** 30)}, und diese Platte ist größer. Wählen Sie ein anderes Format.`,
    'too-many-blocks': 'Diese Platte ist zu groß für das Format. Wählen Sie ein anderes.',
    'place-limit': ({ of, size: has, min, max }) => {
      const [what, bound] = [
        of === 'disk' ? 'Die Platte' : 'Die Datei',
        min === undefined ? 'höchstens' : 'mindestens',
      ];
      return `${what} hat ${bytes(has, size)}, erlaubt sind ${bound} ${bytes(min ?? max, size)}.`;
    },
    'module-not-loaded': 'Ein Teil von Decant konnte nicht geladen werden. Laden Sie die Seite neu.',
    'wasm-not-loaded': 'Ein Teil von Decant (WebAssembly) konnte nicht geladen werden. Laden Sie die Seite neu.',
    'worker-not-started': 'Ein Teil von Decant (ein Worker) konnte nicht starten. Laden Sie die Seite neu.',
    'writing-refused': 'Der Browser erlaubt nicht, dorthin zu schreiben. Wählen Sie den Ort neu.',
    'blob-exists': 'Unter diesem Namen liegt dort schon ein vollständiger Blob.',
    'blob-missing': 'Unter dieser Adresse liegt kein Blob.',
    'container-unmarked': ({ container }) =>
      `Dem Archiv (${name(container)}) fehlt die Endmarke: vielleicht ist es nicht ganz kopiert.`,
    'invalid-signed-url': 'Diese Seite hat für das Hochladen keine Adresse mit http oder https bekommen.',
    journal: 'Was schon hochgeladen ist, lässt sich nicht feststellen: das Journal ist unbrauchbar.',
    'left-behind': ({ leftAt }) => `Was hochgeladen wurde, ließ sich nicht entfernen: ${name(leftAt)}.`,
    'object-completed': ({ leftAt }) =>
      `Das Objekt auf dem Server war schon fertig oder ist es vielleicht: ${name(leftAt)}.`,
    'object-overwritten': ({ leftAt }) =>
      `Das Objekt auf dem Server wurde zum Teil überschrieben oder wurde es vielleicht: ${name(leftAt)}.`,
    'manifest-mismatch':
      'Der Inhalt ist ein anderer, als das Manifest sagt. Laden oder kopieren Sie die Dateien noch einmal.',
    'no-image': 'In dem Archiv liegt kein Festplattenabbild, das Decant erkennt.',
    'object-differs': 'Auf dem Server liegt etwas anderes, als hochgeladen wurde.',
    'address-unsupported': ({ scheme }) => `Decant liest keine Adressen, die mit ${name(scheme)} beginnen.`,
    'controller-full': ({ most }) => `Die virtuelle Maschine hat Platz für höchstens ${name(most)} Platten.`,
    'disk-full': 'Das Ziel ist voll. Schaffen Sie Platz, oder schreiben Sie an einen anderen Ort.',
    'file-exists': 'Eine der Dateien, die entstehen sollen, gibt es schon. Sie wird nicht ersetzt.',
    'file-too-large': 'Das Ziel nimmt keine Datei dieser Größe. Wählen Sie ein anderes Format oder einen anderen Ort.',
    'format-not-made': ({ extension }) => `Decant schreibt kein Format mit der Endung ${name(extension)}.`,
    'handle-unusable': 'Die geöffnete Datei lässt sich nicht noch einmal öffnen.',
    'name-too-long': 'Der Name der Datei oder ihr Pfad ist zu lang.',
    'no-page': 'Einen Download beginnt nur eine Seite, kein Worker.',
    'no-picker': 'Dieser Browser hat keinen solchen Dialog.',
    'not-a-file': 'Das ist keine Datei, sondern etwa ein Ordner.',
    'nothing-to-unpack': 'Die Datei ist nicht gepackt.',
    'one-disk': 'Eine Datei dieses Formats hat nur eine Platte.',
    'output-in-use': 'In diese Datei schreibt schon eine andere Konvertierung.',
    'place-format': ({ place, format }) => `${name(place)} nimmt ${name(format)} nicht, oder nicht so.`,
    'spool-full': 'Für eine temporäre Datei fehlt der Platz.',
    'stream-used': 'Der Datenstrom wurde schon gelesen oder geschlossen.',
    'target-too-large': ({ room, size: needed }) =>
      `Das Ziel hat ${bytes(room, size)}, das Ergebnis ${bytes(needed, size)}. Es muss am Ende des Ziels enden.`,
    'target-too-small': ({ room, size: needed }) =>
      `Das Ziel hat nur ${bytes(room, size)}, das Ergebnis ${bytes(needed, size)}.`,
    'unknown-option': ({ call, option }) => `${name(call)} kennt die Option ${name(option)} nicht.`,
    'unknown-place': ({ place }) => `Den Ort ${name(place)} kennt Decant nicht.`,
    'verify-refused': 'Diese Ausgabe lässt sich nicht zurücklesen und deshalb nicht prüfen.',
    'verify-differs':
      'Das Ergebnis ist nicht die Platte, die geschrieben wurde. Prüfen Sie den Speicherort und den Arbeitsspeicher, und konvertieren Sie noch einmal.',
    'verify-unreadable': 'Das Ergebnis lässt sich nicht zurücklesen. Konvertieren Sie noch einmal.',
    'not-verifiable': 'Das Ergebnis lässt sich nicht mit der Platte vergleichen.',
    'part-differs': 'Beim Server ist etwas anderes angekommen, als gesendet wurde.',
    'piece-damaged': ({ piece }) =>
      piece === undefined
        ? 'Dieser Teil des Abbilds hat eine andere Größe als die vor ihm.'
        : `Teil ${name(piece)} ist beschädigt, abgeschnitten oder doppelt.`,
    'piece-missing': 'Ein Teil davon fehlt in dem Archiv.',
    'ambiguous-file': 'Mehrere Dateien oder Platten haben diesen Namen. Geben Sie nur die richtige Datei dazu.',
    'several-images': ({ count }) =>
      `In dem Archiv liegen ${name(count)} Festplattenabbilder. Entpacken Sie das, um das es geht.`,
    'no-such-disk': 'Diese Platte gibt es in dem Archiv nicht.',
    'size-differs': ({ found, size: wanted }) =>
      `Der Blob hat ${bytes(found, size)}, das Ergebnis aber ${bytes(wanted, size)}.`,
    'tar-sparse-unreadable':
      'Decant liest die Form nicht, in der das Archiv die Löcher der Datei speichert. Packen Sie die Datei ohne Löcher.',
    'upload-incomplete': 'Der Server hat alles empfangen, aber das Hochladen nicht abgeschlossen.',
    'upload-uncertain':
      'Ob das Hochladen abgeschlossen ist, lässt sich nicht feststellen. Sehen Sie auf dem Server nach.',
  };
}

export function germanNotices({ size, exactSize }: Units): Sentences {
  const outside = ({ file }: Fields) =>
    `Das Abbild nennt ${name(file)}, also eine Datei außerhalb seines Ordners. Sie wird nie von selbst geöffnet.`;

  return {
    'absolute-path': outside,
    'parent-path': outside,
    protocol: outside,
    'raw-disk-beside': ({ file }) =>
      `${name(file)} im selben Archiv sieht wie eine rohe Platte aus. Um sie zu lesen, geben Sie sie als Platte an.`,
    'raw-layer-cut': ({ file, size: found }) =>
      `${name(file)} ist vielleicht abgeschnitten: die Datei ist kürzer als die Platte und endet mitten in einem Sektor (${bytes(found, size)}). Was fehlt, wird als Nullen gelesen.`,
    'backing-file': ({ file }) =>
      `Das Abbild baut auf ${name(file)} auf: von dort kommen die Daten, die es nicht selbst enthält.`,
    'backing-format': ({ file }) => `Das Abbild sagt nicht, welches Format ${name(file)} hat.`,
    'checksum-mismatch': ({ file }) =>
      `${name(file)} hat nicht die Prüfsumme, die das Zip-Archiv nennt. Einige Bytes der Platte sind falsch, und es ist nicht bekannt, welche.`,
    'checksum-unchecked': ({ file }) =>
      `${name(file)} wurde nicht mit der Prüfsumme im Zip-Archiv verglichen, weil nur Teile der Datei gelesen werden.`,
    'data-file': ({ file }) => `Die Daten liegen in einer anderen Datei: ${name(file)}.`,
    'copies-differ':
      'Die beiden Kopien der Tabellen sind verschieden. Wo die erste nichts Brauchbares enthält, wird die zweite gelesen.',
    'descriptor-cut': ({ file }) =>
      `Der Deskriptor${file === undefined ? '' : ` ${name(file)}`} ist vielleicht abgeschnitten. Dann fehlt ein Teil der Platte.`,
    'disk-grows': ({ added, unit }) =>
      `Am Ende kommen ${bytes(added, size)} Nullen hinzu: die Größe der Platte muss ein Vielfaches von ${bytes(unit, exactSize)} sein.`,
    dirty: ({ file }) => `${file === undefined ? 'Das Abbild' : name(file)} wurde nicht richtig geschlossen.`,
    'download-unconfirmed':
      'Diese Seite ist in eine Seite einer anderen Website eingebettet. Erlaubt jene Seite keine Downloads, hat der Browser den Download verworfen.',
    expanding: 'Komprimierte Daten werden weit größer als die Datei.',
    extent: ({ file }) => `Ein Teil der Platte liegt in ${name(file)}.`,
    'extent-empty': ({ extent }) =>
      `Laut Deskriptor hat ${name(extent)} 0 Sektoren. Vielleicht fehlt ein Teil der Platte.`,
    extents: ({ count }) => `Teile der Platte liegen in ${name(count)} anderen Dateien.`,
    'spool-left': 'Die Ausgabe ist vollständig, aber ihre temporäre Datei ließ sich nicht entfernen.',
    'footer-inside': 'Das Ziel ist größer als die Ausgabe, deren Ende nicht am Ende des Ziels liegt.',
    'guessed-raw': ({ file, container }) => {
      if (file !== undefined) {
        return `${name(file)} ist in keinem Format, das QEMU erkennt, und es ist keines angegeben. Gelesen wird eine rohe Platte.`;
      }
      const inside = container === undefined ? 'Der Inhalt' : `Der Inhalt der Datei (${name(container)})`;
      return `${inside} ist in keinem Format, das Decant kennt, und wird als rohe Platte gelesen.`;
    },
    'hybrid-iso':
      'Die Datei ist ein hybrides ISO-Abbild: ein Dateisystem nach ISO 9660 mit einer Partitionstabelle. Sie wird als rohe Platte gelesen.',
    huge: ({ size: disk }) => `Die Platte hat ${bytes(disk, size)}, weit mehr als ihre Datei.`,
    'guest-drivers': ({ label, system, drivers }) => {
      const place = typeof label === 'string' ? label.replace(' or ', ' oder ') : label;
      const needs =
        system === 'windows' ? 'braucht Windows vielleicht' : 'braucht Linux in seinem initramfs vielleicht';
      return `Um in ${name(place)} zu starten, ${needs} Treiber (${name(drivers)}). Decant fügt sie nicht hinzu.`;
    },
    'packed-as-raw': ({ file, format, container }) => {
      const content = file === undefined ? 'Der Inhalt' : `Der Inhalt von ${name(file)}`;
      return `${content} ist in einem anderen Format (${name(format ?? container)}), aber die Datei selbst wird als Platte gelesen.`;
    },
    'parent-forced': ({ file, wanted, found }) =>
      `${name(file)} wird trotz falscher Kennung gelesen: Erwartet wird ${name(wanted)}, die Datei hat ${name(found)}.`,
    'parent-unchecked': ({ file, neededBy }) =>
      `${name(neededBy)} sagt nicht, auf welcher Datei es aufbaut. Ob ${name(file)} die richtige ist, wurde nicht geprüft.`,
    'part-alone': ({ first }) =>
      `Dem Namen nach ist ${name(first)} ein Teil einer geteilten Datei. Er wird als die ganze Platte gelesen.`,
    'parts-unchecked': ({ first, last, count }) =>
      `Die Platte wird aus ${name(count)} Dateien gelesen, ${name(first)} bis ${name(last)}. Ob sie zusammengehören und ob die letzte dabei ist, lässt sich an ihnen nicht erkennen.`,
    'ovf-capacity': ({ capacity, size: found }) =>
      `Laut der Beschreibung der virtuellen Maschine hat diese Platte ${bytes(capacity, size)}, sie hat aber ${bytes(found, size)}. Vielleicht ist es die falsche, oder sie ist unvollständig.`,
    shared: 'Teile der Datei gehören zu mehreren Stellen der Platte.',
    'size-mismatch': ({ descriptor, header }) =>
      `Zwei Stellen des Abbilds nennen verschiedene Größen: ${bytes(descriptor, size)} und ${bytes(header, size)}. Die zweite gilt.`,
    'source-not-verified': 'Ändert sich das Abbild beim Konvertieren, wird es vielleicht nicht bemerkt.',
    'unknown-descriptor-version': ({ version }) =>
      `Der Deskriptor hat eine Version, die Decant nicht kennt: ${name(version)}.`,
    'unknown-features': 'Das Abbild benutzt unbekannte Funktionen, die zum Lesen nicht nötig sind.',
    'unknown-io-filter': ({ filters }) =>
      `Beim Schreiben war ein I/O-Filter beteiligt (${name(filters)}), der Daten verändert haben kann.`,
    'manifest-unchecked': ({ file }) =>
      `${file === undefined ? 'Das Abbild' : name(file)} wurde nicht mit dem Manifest verglichen.`,
    'large-window': ({ size: window }) =>
      `Zum Entpacken der Datei braucht Decant ${bytes(window, size)} Arbeitsspeicher zusätzlich zu dem der Konvertierung.`,
    'measured-first':
      'Die Größe der Platte wird zuerst gebraucht, ist aber erst an ihrem Ende bekannt. Nennt die komprimierte Datei sie nicht, wird sie zweimal entpackt.',
    'marked-corrupt': ({ file }) =>
      `${file === undefined ? 'Das Abbild' : name(file)} ist als beschädigt gekennzeichnet.`,
    'gpt-not-at-end': 'Die Kopie der Partitionstabelle (GPT) liegt nicht am Ende der vergrößerten Platte.',
    'gpt-unchanged':
      'Die Partitionstabelle wurde nicht geändert: die Platte hat keine GPT, oder deren Kopie liegt schon am Ende.',
    'sector-size': ({ size: sector }) =>
      `Die Platte hat Sektoren von ${bytes(sector, size)}. Viele Programme finden ihre Partitionen nur in solchen.`,
    trailer: ({ size: rest }) =>
      `Nach den komprimierten Daten folgen weitere ${bytes(rest, size)}, die nicht dazugehören. Sie werden ignoriert.`,
    unconfirmed: 'Der Server hat alles angenommen, ließ sich aber nicht nach der fertigen Datei fragen.',
    'vhd-footer': 'Der Inhalt ist eine VHD fester Größe. Ihr Ende gehört nicht zur Platte.',
    'vhd-footers-differ': ({ file, differences }) =>
      `Die beiden Kopien der Beschreibung am Anfang und Ende ${file === undefined ? 'des Abbilds' : `von ${name(file)}`} sind verschieden (${name(differences)}). Gelesen wird die am Ende.`,
    'vhd-size': ({ size: read, otherSize }) =>
      `Über die Größe dieser Platte sind sich Programme uneinig: Gelesen werden ${bytes(read, size)}, manche lesen ${bytes(otherSize, size)}.`,
    'luks-header-damaged': ({ file }) =>
      `Eine der beiden Kopien des LUKS-Kopfes ${file === undefined ? '' : `von ${name(file)} `}ist beschädigt. Gelesen wird die andere.`,
    'vhdx-log-damaged': ({ file }) =>
      `Das Protokoll ${file === undefined ? 'des Abbilds' : `von ${name(file)}`} ist beschädigt. Die letzten Änderungen fehlen.`,
    'vhdx-log-replayed': ({ file, size: changed }) =>
      `${file === undefined ? 'Das Abbild' : name(file)} wurde nicht richtig geschlossen. Die Änderungen in seinem Protokoll (${bytes(changed, size)}) werden beim Lesen angewandt.`,
    'vhdx-regions-differ': ({ file }) =>
      `Die beiden Tabellen der Bereiche ${file === undefined ? 'des Abbilds' : `von ${name(file)}`} sind verschieden. Gelesen wird die erste.`,
    unverified: 'Hat sich das Abbild beim Konvertieren geändert, wurde es vielleicht nicht bemerkt.',
  };
}

/** Clauses that say why a range is lost. */
export const germanDamage: Sentences = {
  'compressed-cut': 'die Datei endet in einem komprimierten Cluster',
  'compressed-invalid': 'ein komprimierter Cluster ergibt keinen ganzen Cluster',
  'data-in-structure': 'ein Teil der Platte liegt im Kopf oder in einer Tabelle der Datei',
  'data-overlaps': 'zwei Teile der Platte überlappen sich in der Datei',
  'grain-cut': 'die Datei endet in einem komprimierten Grain',
  'grain-invalid': 'ein komprimiertes Grain ergibt kein ganzes Grain mit der richtigen Prüfsumme',
  'grain-misplaced': 'ein komprimiertes Grain trägt die Markierung eines anderen',
  'grain-oversized': 'die Markierung eines komprimierten Grains nennt mehr als die doppelte Größe eines Grains',
  'luks-payload-truncated': 'die Datei endet vor dem Ende der verschlüsselten Platte',
  'parallels-block-misplaced': 'ein Block liegt vor dem Anfang der Daten',
  'parallels-block-outside': 'ein Block läge weit hinter dem Ende der Datei',
  'parallels-block-truncated': 'die Datei endet vor dem Ende eines Blocks',
  'parallels-not-empty': 'ein Block ist belegt, obwohl das Abbild laut seinem Kopf leer ist',
  'parallels-plain-truncated': 'ein einfaches Abbild ist kürzer als sein Teil der Platte',
  'parallels-table-truncated': 'die Datei endet vor dem Ende der Blocktabelle',
  'qcow2-cluster-outside': 'ein Cluster läge weit hinter dem Ende der Datei',
  'qcow2-cluster-truncated': 'die Datei endet vor dem Ende eines Datenclusters',
  'qcow2-cluster-unaligned': 'ein Datencluster beginnt zwischen zwei Clustern',
  'qcow2-compressed-truncated': 'die Datei endet vor einem komprimierten Cluster',
  'qcow2-data-file-compressed': 'ein Abbild mit Datendatei hat einen komprimierten Cluster',
  'qcow2-data-file-offset': 'eine Stelle in der Datendatei ist nicht die auf der Platte',
  'qcow2-l1-outside': 'die L1-Tabelle läge weit hinter dem Ende der Datei',
  'qcow2-l1-truncated': 'die Datei endet vor dem Ende der L1-Tabelle',
  'qcow2-l2-outside': 'eine L2-Tabelle läge weit hinter dem Ende der Datei',
  'qcow2-l2-truncated': 'die Datei endet vor dem Ende einer L2-Tabelle',
  'qcow2-l2-unaligned': 'eine L2-Tabelle beginnt zwischen zwei Clustern',
  'qcow2-subcluster-conflict': 'ein Subcluster ist zugleich belegt und null',
  'qcow2-subcluster-nowhere': 'ein belegter Subcluster hat keinen Platz in der Datei',
  'qcow2-zero-in-version-2': 'ein Abbild der Version 2 hat einen Null-Cluster',
  'qed-cluster-misplaced': 'ein Datencluster liegt im Kopf oder zwischen zwei Clustern',
  'qed-cluster-outside': 'ein Datencluster läge weit hinter dem Ende der Datei',
  'qed-cluster-truncated': 'die Datei endet vor dem Ende eines Datenclusters',
  'qed-l1-outside': 'die L1-Tabelle läge weit hinter dem Ende der Datei',
  'qed-l1-truncated': 'die Datei endet vor dem Ende der L1-Tabelle',
  'qed-l2-misplaced': 'eine L2-Tabelle liegt im Kopf oder zwischen zwei Clustern',
  'qed-l2-outside': 'eine L2-Tabelle läge weit hinter dem Ende der Datei',
  'qed-l2-truncated': 'die Datei endet vor dem Ende einer L2-Tabelle',
  'raw-disk-truncated': 'die Datei endet vor dem Ende der Platte',
  'table-overlaps': 'eine Tabelle überlappt einen anderen Teil der Datei',
  'vdi-block-outside': 'ein Block läge weit hinter dem Ende der Datei',
  'vdi-block-truncated': 'die Datei endet vor dem Ende eines Blocks',
  'vdi-map-truncated': 'die Datei endet vor dem Ende der Blocktabelle',
  'vhd-bitmap-truncated': 'die Datei endet vor dem Ende einer Sektortabelle',
  'vhd-block-in-header': 'ein Block liegt im Kopf der Datei',
  'vhd-block-outside': 'ein Block läge weit hinter dem Ende der Datei',
  'vhd-block-truncated': 'die Datei endet vor dem Ende eines Blocks',
  'vhd-footer-wrong':
    'die Beschreibung am Ende der Datei führt zu keinem Kopf, daher wird ihre Kopie am Anfang der Datei gelesen',
  'vhd-table-outside': 'die Blocktabelle läge weit hinter dem Ende der Datei',
  'vhd-table-truncated': 'die Datei endet vor dem Ende der Blocktabelle',
  'vhdx-bitmap-outside': 'eine Sektortabelle läge weit hinter dem Ende der Datei',
  'vhdx-bitmap-truncated': 'die Datei endet vor dem Ende einer Sektortabelle',
  'vhdx-block-outside': 'ein Block läge weit hinter dem Ende der Datei',
  'vhdx-block-truncated': 'die Datei endet vor dem Ende eines Blocks',
  'vhdx-entry-invalid': 'ein Eintrag der Blocktabelle ist ungültig',
  'vhdx-log-lost': 'das Protokoll ist beschädigt, und die letzten Änderungen können fehlen',
  'vhdx-table-outside': 'die Blocktabelle läge weit hinter dem Ende der Datei',
  'vhdx-table-truncated': 'die Datei endet vor dem Ende der Blocktabelle',
  'vmdk-directory-entry': 'ein Eintrag des Grain-Verzeichnisses ist ungültig',
  'vmdk-directory-outside': 'das Verzeichnis der Grains läge weit hinter dem Ende der Datei',
  'vmdk-directory-truncated': 'die Datei endet vor dem Ende des Grain-Verzeichnisses',
  'vmdk-extent-outside': 'ein Extent läge weit hinter dem Ende seiner Datei',
  'vmdk-extent-short': 'eine Teildatei ist kürzer, als der Deskriptor sagt',
  'vmdk-extent-truncated': 'eine Teildatei endet zu früh',
  'vmdk-footer-lost': 'das Ende der Datei fehlt, das sagt, wo die Grains liegen',
  'vmdk-grain-outside': 'ein Grain läge weit hinter dem Ende der Datei',
  'vmdk-grain-truncated': 'die Datei endet vor dem Ende eines Grains',
  'vmdk-no-access': 'der Deskriptor erlaubt keinen Zugriff auf eine Teildatei',
  'vmdk-table-entry': 'ein Eintrag einer Grain-Tabelle ist ungültig',
  'vmdk-table-outside': 'eine Grain-Tabelle läge weit hinter dem Ende der Datei',
  'vmdk-table-truncated': 'die Datei endet vor dem Ende einer Grain-Tabelle',
};
