// All German texts of the element. Names of images and files are shown escaped and cut.

import { shownText } from 'decant';
import type { AllTexts } from '../../types.texts.js';
import { listOf } from '../sentences.js';
import { clause, commaSeparated, firmwareName } from '../wording.js';
import {
  about,
  checking,
  downloadCost,
  exactSize,
  gigabytes,
  holds,
  pickedCost,
  roughly,
  size,
  space,
  units,
} from './amounts.js';
import { germanMessages } from './messages.js';
import { germanResults } from './results.js';
import { INSTEAD } from './sentences.js';

const ROLES: Record<string, string> = {
  'backing file': 'Basisdatei',
  'data file': 'Datendatei',
  extent: 'Teildatei',
  parent: 'Elterndatei',
};

/** Labels and hints of output formats, by their names in the package. */
const OUTPUTS: Record<string, [label: string, hint?: string]> = {
  raw: ['Rohe Platte'],
  qcow2: ['qcow2', 'Für KVM, Proxmox und OpenStack'],
  vmdk: ['VMDK', 'Für VMware und VirtualBox'],
  'raw.gz': ['Rohe Platte (gzip)'],
  'raw.zst': ['Rohe Platte (zstd)'],
  'raw.xz': ['Rohe Platte (xz)'],
  vpc: ['VHD fester\u00a0Größe', 'Für Azure'],
  vhdx: ['VHDX', 'Für Hyper-V'],
  vdi: ['VDI', 'Für VirtualBox'],
  'tar.gz': ['tar.gz mit disk.raw', 'Für die Google Cloud'],
  ova: ['OVA', 'Eine virtuelle Maschine'],
};

const role = (name: string): string => ROLES[name] ?? name;

const list = (names: readonly string[]): string => listOf(names, (more) => `und ${more} weitere`);

/** Says how to resume the conversion of an image from `link`. */
function resuming(link: string | undefined): string {
  if (link === undefined) return 'Um fortzufahren, öffnen Sie dieselbe Datei oder denselben Link noch einmal.';
  if (link === '') return 'Ihr Abbild kam von einem Link. Um fortzufahren, geben Sie denselben Link noch einmal ein.';
  return `„Fortsetzen“ öffnet seinen Link noch einmal: ${shownText(link)}`;
}

export const german: AllTexts = {
  size,
  ...germanMessages(units),

  title: 'Decant',
  tagline: 'Konvertiert virtuelle Platten.',
  nothingUploaded: 'Nichts wird hochgeladen.',

  dropHere: 'Festplattenabbild ablegen',
  fromTo: 'qcow2, VMDK, VDI, VHD, OVA → jede Cloud',
  allFormats: 'Alle Formate',
  takes: (inputs) => `${inputs.join(', ')}, auch in OVA oder zip`,
  makes: (outputs) => `→ ${outputs.join(', ')}`,
  choose: 'Datei auswählen',
  fromLink: 'Von einem Link',
  address: 'Link zu einem Abbild',
  // All roles are feminine nouns.
  addressFor: (need) => `Link zur ${role(need.role)}`,
  openAddress: 'Öffnen',
  noAddress: 'Geben Sie einen Link ein, der mit https:// oder http:// beginnt.',
  trySample: 'Beispiel ausprobieren',
  interrupted: (name, bytes, share, link) =>
    `Die Konvertierung von ${shownText(name)} wurde ${share === undefined ? '' : `bei ${german.share(share)} `}unterbrochen. Sie belegt ${size(bytes)} im Speicher dieses Browsers. ${resuming(link)}`,
  discard: 'Verwerfen',
  storageFreed: (bytes) => `${size(bytes)} im Speicher dieses Browsers sind wieder frei.`,
  notResumed: (name) =>
    `Zu ${shownText(name)} gibt es keinen fertigen Teil: die Datei wurde seither geändert, oder es ist eine andere.`,
  fileInterrupted: (name, file, folder) =>
    `Die Konvertierung von ${shownText(name)} wurde unterbrochen. Vielleicht ist ${shownText(file)}${folder === undefined ? '' : ` im Ordner ${shownText(folder)}`} leer oder unvollständig zurückgeblieben.`,
  downloadLost: (name, file) =>
    `Die Konvertierung von ${shownText(name)} wurde unterbrochen, und der Download ${shownText(file)} ist verloren. Ein Rest davon in Ihren Downloads kann gelöscht werden.`,
  dismiss: 'Ausblenden',
  removeFile: (file) => `${shownText(file)} entfernen`,
  fileRemoved: (file) => `${shownText(file)} wurde entfernt.`,
  fileStays: (file) => `${shownText(file)} ist nicht leer und bleibt: Prüfen Sie, ob die Datei vollständig ist.`,
  fileNotRemoved: (file) =>
    `Der Browser lässt diese Seite ${shownText(file)} nicht entfernen. Löschen Sie die Datei selbst.`,
  badge: 'Bleibt auf diesem Computer · geht ohne Netz · Open Source',
  proof: 'Ist das sicher?',
  checkUploads: 'Nichts wird hochgeladen. Schalten Sie das Netz aus: es funktioniert trotzdem.',
  dropToOpen: 'Zum Öffnen loslassen',
  dropToQueue: 'Loslassen, um es in die Warteschlange zu stellen',
  dropToAnswer: (name) => `Loslassen, um es für ${shownText(name)} zu verwenden`,
  opening: (name) => `${shownText(name)} wird gelesen`,
  slow: 'Das dauert länger als sonst: ein Datenträger oder ein Server antwortet nicht.',
  dropped: 'Das Abgelegte',
  chosen: 'Die Auswahl',
  noFiles: 'Es wurden keine Dateien gefunden.',
  tooMany: (most) => `Mehr als ${most} Dateien. Fügen Sie nur die Abbilder hinzu.`,
  notFetched: (name) => `${shownText(name)} konnte nicht gelesen werden; versuchen Sie es noch einmal.`,
  noImages: (names) => `Keine dieser Dateien ist ein Festplattenabbild: ${list(names)}. ${INSTEAD}`,
  aside: (names) => `Übersprungen, kein Festplattenabbild: ${list(names)}.`,
  held: (names) =>
    `Für die Maschine behalten, der die Datei einer Platte fehlt: ${list(names)}. Vielleicht sind es ältere Stände von ihr. Um eine so zu konvertieren, fügen Sie sie allein hinzu.`,

  queue: 'Warteschlange',
  convertAll: (images) => `Alle ${images} konvertieren`,
  convertDisks: (disks) => `Alle ${disks} Platten konvertieren`,
  convertDisk: 'Nur diese Platte konvertieren',
  allDone: (done, all) => `${done} von ${all} konvertiert`,
  notAll: (names) => `Nicht konvertiert: ${list(names)}.`,
  someDamaged: (names) => `Konvertiert, aber beschädigt: ${list(names)}.`,
  queued: {
    added: (names) => `In die Warteschlange gestellt: ${list(names)}.`,
    claimed: (names) => `Aus der Warteschlange genommen, für dieses Abbild: ${list(names)}.`,
    removed: (name) => `Aus der Warteschlange entfernt: ${shownText(name)}.`,
    waiting: 'wartet',
    current: 'gerade geöffnet',
    saved: (place, bytes) => {
      const name = shownText(place.name);
      const where = place.kind === 'folder' ? ` in ${shownText(place.folder.name)}` : '';
      const isSaved = place.kind !== 'stored' && place.kind !== 'streamed';
      return `${isSaved ? `gespeichert als ${name}${where}` : `konvertiert; siehe ${name} in Ihren Downloads`}, ${size(bytes)}`;
    },
    commands: 'Befehle und Einzelheiten',
    cancelled: 'abgebrochen',
    open: 'Öffnen',
    remove: 'Entfernen',
    salvage: 'Retten',
  },

  image: 'Abbild',
  format: 'Format',
  virtualSize: 'Größe der Platte',
  unknownSize: 'erst nach dem Konvertieren bekannt',
  fileSize: 'Abbilddatei',
  fileSizeValue: (bytes, files) => (files > 1 ? `${size(bytes)} in ${files} Dateien` : size(bytes)),
  data: 'Daten',
  layers: 'Schichten',
  machine: 'Virtuelle Maschine',
  encryption: 'Verschlüsselung',
  diskDigest: 'SHA-256 der Platte',
  computeDiskDigest: 'SHA-256 der Platte berechnen',
  diskDigestHint: 'Von allen Bytes, die der Gast sieht: in jedem Format gleich, außer die Platte wird vergrößert.',
  encryptionValue: ({ format, luks }) =>
    luks ? `${format.toUpperCase()}${luks.version}, ${shownText(luks.cipher)}` : 'AES (veraltet)',
  snapshot: 'Stand der Platte',
  activeDisk: 'Aktueller Stand',
  snapshotValue: ({ id, name, date }) =>
    `Schnappschuss ${shownText(name || id)}, ${new Date(date * 1000).toLocaleString('de')}`,
  unused: (names) => `Nicht verwendet: ${list(names)}.`,
  formatValue: (info) =>
    commaSeparated(
      info.format,
      info.version && `Version ${info.version}`,
      info.clusterSize && `Einheiten von ${exactSize(info.clusterSize)}`,
      ...info.containers.map(({ name }) => `in ${name}`),
    ),
  dataCounting: (bytes) => `bisher ${size(bytes)}`,
  dataValue: (bytes, compressed) => {
    if (compressed === 0) return size(bytes);
    return `${size(bytes)}, davon ${compressed > bytes * 0.95 ? 'fast alles' : size(compressed)} komprimiert`;
  },

  picture: {
    label: (share) => (share === undefined ? 'Bild der Platte' : `Bild der Platte, ${german.share(share)} konvertiert`),
    data: 'Daten',
    layer: (name) => `Daten aus ${shownText(name)}`,
    compressed: 'komprimiert',
    empty: 'leer',
    lost: 'verloren',
    cell: (offset, content, part, layer) =>
      commaSeparated(
        `bei ${size(offset)}: ${content === 'unknown' ? 'noch nicht gelesen' : german.picture[content]}`,
        part && german.contents.part(part),
        layer && shownText(layer),
      ),
    table: { caption: 'Teile der Platte', part: 'Teil', start: 'Beginnt bei', data: 'Mit Daten' },
  },

  contents: {
    title: (table, parts) =>
      table
        ? `Auf dieser Platte: ${parts === 1 ? 'eine Partition' : `${parts} Partitionen`} (${table.kind})`
        : 'Auf dieser Platte',
    part: ({ name, type, fileSystem, length }) => {
      const what = fileSystem?.name ?? type ?? 'unbekannt';
      const label = fileSystem?.label ?? name;
      const called = label ? `${what} „${shownText(label)}“` : what;
      return commaSeparated(called, size(length), fileSystem && type);
    },
    more: (parts) => `und ${parts === 1 ? 'eine weitere' : `${parts} weitere`}`,
    firmware: (found) => `Das System auf dieser Platte startet mit ${found.map(firmwareName).join(' oder ')}.`,
    damaged: 'Die Partitionstabelle ist beschädigt; die Platte wird unverändert konvertiert.',
  },

  disksTitle: (name, count) => `${shownText(name)} enthält ${count === 1 ? 'eine Platte' : `${count} Platten`}`,
  disksQuestion: 'Welche Platten möchten Sie konvertieren?',
  noDiskTitle: (name) => `Keine Datei in ${shownText(name)} sieht wie eine Platte aus`,
  noDiskQuestion: 'Falls rohe Platten dabei sind: welche möchten Sie konvertieren?',
  diskMissing: 'ihre Datei fehlt',
  diskSize: (bytes) => `eine Platte mit ${size(bytes)}`,
  disksMissing: (count) =>
    `Legen Sie die ${count === 1 ? 'fehlende Datei' : 'fehlenden Dateien'} hier ab, oder wählen Sie sie aus.`,
  useAsDisk: (name, disk) => `${shownText(name)} als ${shownText(disk)} verwenden`,
  noDiskChosen: 'Wählen Sie mindestens eine Platte.',
  openDisks: 'Weiter',
  joinDisks: (disks) => `Alle ${disks} Platten in eine OVA`,
  diskInOva: 'Nur diese Platte in eine OVA',
  separateDisks: 'Eine Datei je Platte',
  joined: (disks) => `${disks} Platten`,
  withoutDisks: (names) =>
    `Nicht in der OVA, weil ${names.length === 1 ? 'die Datei fehlt' : 'die Dateien fehlen'}: ${list(names)}.`,

  packedTitle: (name) => `${shownText(name)} muss erst entpackt werden`,
  packed: (format, bytes) =>
    `Der Inhalt (${shownText(format)}) wird in den Speicher dieses Browsers entpackt${bytes === undefined ? '' : `, ${size(bytes)}`}, und danach entfernt.`,
  unpack: 'Entpacken',

  largeTitle: (name) => `${shownText(name)} braucht viel Arbeitsspeicher`,
  large: (bytes) =>
    `Zum Entpacken dieser Datei braucht der Browser ${size(bytes)} Arbeitsspeicher. Ist weniger frei, wird der Tab vielleicht geschlossen. Andere Tabs und Programme können langsam werden.`,
  unpacking: (name) => `${shownText(name)} wird entpackt`,

  needsFile: ({ of, name }) => `${shownText(of)} enthält einen Teil der Platte. Der Rest steht in ${shownText(name)}.`,
  needsDisk: ({ of }) =>
    `${shownText(of)} enthält nur, was sich seit einem Schnappschuss geändert hat. Der Rest steht in einer anderen Datei der Maschine: Legen Sie deren ganzen Ordner ab.`,
  diskId: (id) => `ID dieser Platte: ${shownText(id)}`,
  needsTitle: ({ fileName }) => `Fügen Sie auch ${shownText(fileName)} hinzu`,
  needsDiskTitle: ({ of }) => `Zu ${shownText(of)} fehlt noch eine Datei`,
  needsPassword: (name) => `${shownText(name)} ist verschlüsselt`,
  chooseFor: (need) => `${role(need.role)} auswählen`,
  chooseOther: (need) => `Eine andere ${role(need.role)} auswählen`,
  needsFileHint: 'Oder legen Sie sie hier ab: nur Dateien, die Sie auswählen, werden gelesen.',
  notTheFile: (names) => `Heißt anders als die fehlende Datei: ${list(names)}.`,
  notTheDisk: (names) => `Nicht die fehlende Platte: ${list(names)}.`,
  useAllTheSame: (name, wanted) => `${shownText(name)} als ${role(wanted)} verwenden`,
  doubt: (name, wanted) => `${shownText(name)} ist vielleicht die falsche ${role(wanted)}`,
  doubtHint: 'Mit einer falschen Datei sieht die Platte vollständig aus, ist aber fehlerhaft.',
  useIt: 'Trotzdem verwenden',
  otherName: (name, wanted) => `Das Abbild verlangt ${shownText(wanted)}, nicht ${shownText(name)}.`,
  probablyTheImage: (name) => `${shownText(name)} ist wahrscheinlich das Abbild selbst.`,
  smallerLayer: (name, bytes, above, aboveBytes) =>
    `Die Platte in ${shownText(name)} hat ${size(bytes)}, die in ${shownText(above)} ${size(aboveBytes)}. Der Rest sind Nullen: richtig nur, wenn die Platte später vergrößert wurde.`,
  shortDataFile: (name, bytes, disk) => `${shownText(name)} hat ${size(bytes)}, die Platte ${size(disk)}.`,
  notRaw: (name, format, above) =>
    `${shownText(name)} ist ${format}, aber ${shownText(above)} erwartet eine rohe Platte.`,
  noDisk: (name) =>
    `${shownText(name)} ist wahrscheinlich keine Platte: die Größe ist kein Vielfaches von 512\u00a0Bytes.`,
  guessedRaw: (name) => `${shownText(name)} hat kein bekanntes Format. Die Datei würde als rohe Platte gelesen.`,
  passwordOf: (name) => `Passwort für ${shownText(name)}`,
  passwordHint: 'Es bleibt in diesem Tab.',
  unlock: 'Entsperren',
  unlocking: (name) => `${shownText(name)} wird entsperrt`,
  assume: 'Das Passwort stimmt: ohne Prüfung fortfahren',

  salvaging: (bytes) =>
    `Beschädigt: unlesbare Teile werden zu Nullen${bytes > 0 ? `, mindestens ${size(bytes)}` : ''}.`,
  lost: (bytes, ranges) =>
    `${size(bytes)} in ${ranges === 1 ? 'einem Bereich' : `${ranges} Bereichen`} waren nicht lesbar und wurden zu Nullen, oder können falsch sein.`,
  lostList: 'Verlorene Teile der Platte',
  lostMore: (ranges) => `und ${ranges === 1 ? 'ein weiterer' : `${ranges} weitere`}`,

  unknownCost: 'Die Größe ist am Ende bekannt.',
  compressedCost: 'Komprimiert; die Größe hängt von den Daten ab.',
  beginsAnew: 'Wird er unterbrochen, muss er von vorn beginnen.',
  output: 'Ausgabeformat',
  outputHint: ({ name, hint = '' }) => OUTPUTS[name]?.[1] ?? hint,
  outputValue: ({ name, label }) => OUTPUTS[name]?.[0] ?? label,
  outputRefusal: (output, refusal) => {
    const value = german.outputValue(output);
    const named = output.hint ? `${german.outputHint(output)}: ${value}` : value;
    return `${named} ist nicht möglich. ${german.failure(refusal)}`;
  },
  where: 'Wo soll die Platte laufen?',
  placeLabel: ({ name, label }) => (name === 'raw' ? 'Rohe Platte' : shownText(label.replace(' or ', ' oder '))),
  lastUsed: 'zuletzt',
  morePlaces: 'Mehr …',
  otherPlace: 'Ort suchen',
  noPlace: 'Kein Ort heißt so.',
  forPlace: (place, output) => (place.name === 'raw' ? output : `${output} für ${german.placeLabel(place)}`),
  space,
  about,
  fits: (name, place) => `Nichts zu konvertieren: ${shownText(name)} passt schon (${shownText(place)}).`,
  change: 'Ändern',
  saveHow: 'Speicherort',
  diskSizeField: 'Größere Platte, in GB',
  diskSizeValue: gigabytes,
  verify: 'Prüfen',
  verifyHint: 'Liest das Ergebnis zurück und vergleicht es mit der Platte.',
  verifyNot: 'Eine Datei, die beim Konvertieren heruntergeladen wird, lässt sich nicht zurücklesen.',
  smallerDisk: 'Eine Platte kann nur größer werden. Lassen Sie das Feld leer, um die Größe zu behalten.',
  fileName: 'Dateiname',
  noName: 'Geben Sie einen Dateinamen ein.',
  badName: (character) => `Ein Dateiname kann ${character} nicht enthalten.`,
  controlInName: 'Ein Dateiname darf keine Steuerzeichen enthalten.',
  nameEnd: 'Ein Dateiname darf nicht mit einem Punkt oder Leerzeichen enden.',
  longName: (bytes, most) =>
    `Der Name hat ${bytes}\u00a0Bytes von höchstens ${most}; Umlaute zählen als zwei oder mehr.`,
  folderOfName: 'Der Ordner enthält einen Ordner dieses Namens. Wählen Sie einen anderen Namen.',
  nameRefused: 'Der Browser lässt diesen Namen nicht zu. Wählen Sie einen anderen.',
  nameMade:
    'Ein anderes Abbild dieser Warteschlange wurde zu einer Datei dieses Namens. Wählen Sie einen anderen Namen.',
  nameChecked: 'Der Browser prüft die Datei dieses Namens noch. Wählen Sie einen anderen Namen.',
  otherExtension: (end, extension) => `Der Name endet auf ${end}, aber Dateien des Formats enden auf ${extension}.`,
  changedName: (name) => `Der Browser wird sie ${shownText(name)} nennen.`,
  ways: {
    folder: 'In einen Ordner Ihrer Wahl',
    dialog: 'Mit dem Speicherdialog des Browsers',
    download: 'Als Download',
    host: 'Von dieser Seite speichern lassen',
  },
  toWay: { folder: 'in einen Ordner Ihrer Wahl', dialog: 'mit dem Speicherdialog', download: 'zu Ihren Downloads' },
  toFolder: (name) => `in den Ordner ${shownText(name)}`,
  pickedCost,
  downloadCost,
  folderChosen: (name) => `Ordner: ${shownText(name)}`,
  otherFolder: 'Anderen Ordner auswählen',
  asBefore: 'Wie beim letzten Mal gewählt.',
  asInQueue: 'Wie die anderen Abbilder der Warteschlange.',
  folderAbove: (bytes) =>
    `Dateien von mehr als ${size(bytes)} kommen in einen Ordner: dort belegen leere Teile keinen Platz.`,
  longCheck: (bytes) =>
    `In einem Ordner würde der Browser am Ende alle ${size(bytes)} prüfen, auch leere Teile: ${checking(bytes)}.`,
  storageWasFull: 'Ein Download ist gescheitert, weil der Speicher des Browsers voll war.',
  noPicker: 'Dieser Browser kann nicht in Ordner schreiben; Chrome und Edge können es.',
  foreignPicker: 'In einer Seite einer anderen Website lassen Browser keinen Ort auswählen.',
  frameDownload: {
    'sandboxed-downloads': 'Die umgebende Seite erlaubt keine Downloads.',
    'sandboxed-frame': 'Die umgebende Seite erlaubt keinen Speicher, den ein Download braucht.',
    'foreign-frame':
      'In einer Seite einer anderen Website gibt dieser Browser keinen Speicher, den ein Download braucht.',
  },
  pickerFailed: 'Der Browser lässt diese Seite nicht nach einem Ort fragen.',
  streamsForRoom: (room) => `${holds(room)}; deshalb wird sie beim Konvertieren heruntergeladen.`,
  noRoom: (room, obstacle, canPick) =>
    `${holds(room)}, und sie kann nicht beim Konvertieren heruntergeladen werden: ${clause(obstacle)}. ${canPick ? 'Speichern Sie sie in einen Ordner.' : 'Verwenden Sie Chrome oder Edge, die in Ordner schreiben können.'}`,
  mayNotFit: (room) => `${holds(room)}. Ob das Ergebnis hineinpasst, ist am Ende bekannt.`,
  finding: 'Es wird geprüft, wie sie heruntergeladen werden kann.',
  streamsNot: 'diese Seite bietet das nicht an',
  noStream: (reason) => `Der Download konnte nicht beginnen: ${reason}`,
  insecure: 'Browser lassen eine Seite nur über https oder auf localhost Dateien speichern.',
  otherTab: 'Auch ein anderer Tab konvertiert: beide sind langsamer.',
  convert: 'Konvertieren',
  noWay: 'der Speicherort wird geprüft',
  chooseWay: 'Wählen Sie einen Speicherort.',
  picking: 'Wählen Sie im Dialog des Browsers einen Ort.',

  replaceTitle: (name, folder) => `In ${shownText(folder)} gibt es schon eine Datei ${shownText(name)}`,
  replaceQuestion: (bytes, date) =>
    `${bytes === 0 ? 'Sie ist leer' : `Sie hat ${size(bytes)}`}, zuletzt geändert ${date.toLocaleString('de')}. Sie bleibt unverändert, bis die neue Datei vollständig ist.`,
  replace: 'Ersetzen',
  sourceTitle: (name) => `${shownText(name)} in diesem Ordner ist das Abbild selbst oder ein Teil davon`,
  sourceHint: 'Das Ergebnis kann sie nicht ersetzen.',
  saveAs: (name) => `Als ${shownText(name)} speichern`,
  goOnTitle: (share) => `${german.share(share)} dieser Platte sind schon konvertiert`,
  goOnQuestion: 'Ein Download wurde unterbrochen; dieser Teil ist im Speicher des Browsers.',
  goOn: 'Fortsetzen',
  beginAnew: 'Von vorn beginnen',
  elsewhereTitle: 'Ein anderer Tab setzt diesen Download fort',
  elsewhereHint: 'Der fertige Teil ist dort. Hier kann er nur von vorn beginnen.',
  longCheckTitle: (bytes) => `Am Ende prüft der Browser die Datei: ${checking(bytes)}`,
  longCheckHint: (bytes) =>
    `Er prüft alle ${size(bytes)}, auch leere Teile, und zeigt keinen Fortschritt. Nur wenn Sie den Browser beenden, hört er auf.`,
  saveAnyway: 'Dorthin speichern',
  quickFormat: (output, seconds) =>
    `${german.outputValue(output)} ${seconds === undefined ? 'geht schneller' : `braucht ${roughly(seconds)}`}`,
  quickFormatHint: (bytes, whole) =>
    `Es hat nur die Daten${bytes === undefined ? '' : `, ${size(bytes)}`}. Eine rohe Platte hat alle ${size(whole)}.`,
  useFormat: (output) => `${german.outputValue(output)} verwenden`,
  noFolderTitle: 'Es wurde kein Ordner ausgewählt',
  noFolderHint:
    'Browser lehnen manche Ordner ab, etwa den persönlichen Ordner, Schreibtisch und Downloads. Ein Ordner darin geht: legen Sie ihn im Dialog an.',
  dialogHint: 'Oder verwenden Sie den Speicherdialog des Browsers, der überall speichern kann.',
  dialogWarning:
    'Wählen Sie keine Datei, die Sie noch brauchen: der Browser leert sie sofort, auch wenn Sie später abbrechen.',
  useDialog: 'Speicherdialog des Browsers verwenden',
  ...germanResults,
};
