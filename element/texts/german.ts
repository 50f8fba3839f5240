// Every text that a person reads, in German. Names of images and files are shown escaped and cut.

import { copyLifetime, shownText } from 'decant';
import type { AllTexts, SaveCost } from '../types.texts.js';
import { germanMessages } from './german-messages.js';
import { clause } from './sentences.js';
import type { Units } from './units.js';

const ROLES: Record<string, string> = {
  'backing file': 'Basisdatei',
  'data file': 'Datendatei',
  extent: 'Teildatei',
  parent: 'Elterndatei',
};

/** The output formats, by the package's names for them. */
const OUTPUTS: Record<string, string> = {
  raw: 'Rohe Platte',
  'raw.gz': 'Rohe Platte, mit gzip komprimiert',
  vpc: 'Für Azure: VHD fester Größe',
  'tar.gz': 'Für die Google Cloud: tar.gz mit disk.raw',
};

const role = (name: string): string => ROLES[name] ?? name;

/** A list of names; of many, the first few. */
const list = (names: string[]): string =>
  names.length > 5
    ? `${names.slice(0, 4).map(shownText).join(', ')} und ${names.length - 4} weitere`
    : names.map(shownText).join(', ');

/** A time that is only guessed. */
const roughly = (seconds: number): string => {
  if (seconds < 60) return 'weniger als eine Minute';
  if (seconds < 600) return 'einige Minuten';
  if (seconds < 3600) return 'weniger als eine Stunde';
  return seconds < 86_400 ? 'einige Stunden' : 'mehr als einen Tag';
};

export function german(units: Units): AllTexts {
  const { size, binarySize, duration } = units;

  /** How long a choice takes, as a sentence that follows another one; empty if that is not known. */
  const time = ({ seconds, atLeast, isGuess }: SaveCost): string => {
    if (seconds === undefined || (isGuess && atLeast)) return '';
    if (isGuess) return ` Wahrscheinlich ${roughly(seconds)}.`;
    return atLeast ? ` Mindestens ${duration(seconds)}.` : ` Etwa ${duration(seconds)}.`;
  };

  /** The beginning of a sentence: what the private storage takes, which is less than the disk. */
  const holds = (room: number | undefined): string => {
    if (room === undefined) return 'Dieses Fenster kann sie nicht ganz behalten';
    return `Dieses Fenster kann ${room > 0 ? `etwa ${size(room)}` : 'fast nichts'} behalten, weniger als die Platte hat`;
  };

  const texts: AllTexts = {
    size,
    ...germanMessages(units),

    title: 'Decant',
    tagline: 'Bringt ein Festplattenabbild in die Form, die Sie brauchen.',
    nothingUploaded: 'In diesem Browser: nichts wird hochgeladen.',

    dropHere: 'Festplattenabbild hier ablegen',
    orPaste: 'oder eine Datei einfügen, oder einen Link darauf',
    choose: 'Datei auswählen',
    address: 'Oder die Adresse eines Abbilds auf einem Server',
    addressFor: (need) => `Oder die Adresse auf einem Server: ${role(need.role)}`,
    openAddress: 'Öffnen',
    noAddress: 'Das ist keine Adresse einer Datei: sie beginnt mit https:// oder http://.',
    trySample: 'Mit einem Beispiel ausprobieren',
    help: [
      'Für Abbilder der Festplatten virtueller Maschinen: macht daraus rohe Platten, VHDs für Azure oder Archive für die Google Cloud.',
      'Liest qcow2 mit allem, was dazugehört, VMDK, VDI, QED und rohe Platten, auch in einer Tar- oder Gzip-Datei.',
      'In jeder Größe: nur ein kleiner Teil ist jeweils im Speicher, und in einem Ordner, den Sie auswählen, belegt Leeres keinen Platz.',
    ],
    checkUploads: 'Nichts wird hochgeladen. Sie können es prüfen: schalten Sie das Netz aus, es geht trotzdem.',
    dropToOpen: 'Loslassen, um sie zu öffnen',
    dropToQueue: 'Loslassen, um sie in die Warteschlange zu stellen, bis diese hier fertig ist',
    dropToAnswer: (name) => `Loslassen, um sie für ${shownText(name)} zu übergeben`,
    opening: (name) => `${shownText(name)} wird gelesen`,
    dropped: 'Abgelegtes',
    chosen: 'Ausgewähltes',
    noFiles: 'Es war keine Datei dabei.',
    tooMany: (most) => `Das waren mehr als ${most} Dateien. Legen Sie nur die Abbilder ab, um die es geht.`,
    notFetched: (name) => `${shownText(name)} konnte nicht gelesen werden; versuchen Sie es noch einmal.`,
    aside: (names) =>
      names.length === 1
        ? `${shownText(names[0]!)} ist kein Festplattenabbild und wurde ausgelassen.`
        : `Keine Festplattenabbilder und deshalb ausgelassen: ${list(names)}.`,

    queue: 'Warteschlange',
    queued: {
      added: (names) => `${list(names)} ${names.length === 1 ? 'wartet' : 'warten'} in der Warteschlange.`,
      claimed: (names) =>
        `${list(names)} ${names.length === 1 ? 'war in der Warteschlange und gehört' : 'waren in der Warteschlange und gehören'} zu diesem Abbild.`,
      waiting: 'wartet',
      current: 'jetzt',
      saved: (place) => {
        const name = shownText(place.name);
        if (place.kind === 'folder') return `gespeichert als ${name} in ${shownText(place.folder.name)}`;
        const isSaved = place.kind === 'dialog' || place.kind === 'host';
        return isSaved ? `gespeichert als ${name}` : `konvertiert, als Download ${name}`;
      },
      cancelled: 'abgebrochen',
      open: 'Öffnen',
      remove: 'Entfernen',
    },

    image: 'Abbild',
    format: 'Format',
    virtualSize: 'Größe der Platte',
    unknownSize: 'erst nach dem Konvertieren bekannt',
    fileSize: 'Abbilddatei',
    fileSizeValue: (bytes, files) => (files > 1 ? `${size(bytes)} in ${files} Dateien` : size(bytes)),
    data: 'Daten',
    layers: 'Schichten',
    encryption: 'Verschlüsselung',
    encryptionValue: ({ format, luks }) =>
      luks ? `${format.toUpperCase()}, ${shownText(luks.cipher)}` : 'AES, das alte Verfahren',
    snapshot: 'Was konvertiert wird',
    activeDisk: 'Der jetzige Stand',
    snapshotValue: ({ id, name, dateSeconds }) =>
      `Schnappschuss ${shownText(name || id)}, ${new Date(dateSeconds * 1000).toLocaleString('de')}`,
    openSnapshot: 'Diesen zeigen',
    otherSnapshot: 'Ausgewählt ist ein anderer Stand als der gezeigte: zeigen Sie ihn zuerst an.',
    unused: (names) => `Das Abbild verweist nicht auf ${list(names)}.`,
    formatValue: (info) =>
      [
        info.format,
        info.version && `Version ${info.version}`,
        info.clusterSize && `Einheiten von ${binarySize(info.clusterSize)}`,
        ...info.containers.map(({ name }) => `in ${name}`),
      ]
        .filter(Boolean)
        .join(', '),
    dataCounting: (bytes) => `bisher ${size(bytes)}`,
    dataValue: (bytes, compressed) => {
      if (compressed === 0) return size(bytes);
      return `${size(bytes)}, davon ${compressed > bytes * 0.95 ? 'fast alles' : size(compressed)} komprimiert`;
    },

    picture: {
      label: (share) =>
        share === undefined
          ? 'Was auf der Platte ist, als Bild'
          : `Die Platte als Bild, ${texts.percent(share)} konvertiert`,
      data: 'Daten',
      layer: (name) => `Daten aus ${shownText(name)}`,
      compressed: 'komprimiert',
      empty: 'leer',
      lost: 'verloren',
    },

    contents: {
      title: (table, parts) =>
        table ? `Darauf: ${parts === 1 ? 'eine Partition' : `${parts} Partitionen`} (${table.kind})` : 'Darauf',
      part: ({ name, type, fileSystem, size: bytes }) => {
        const what = fileSystem?.name ?? type ?? 'unbekannt';
        const label = fileSystem?.label ?? name;
        const called = label ? `${what} „${shownText(label)}“` : what;
        return [called, size(bytes), fileSystem && type].filter(Boolean).join(', ');
      },
      more: (parts) => `und ${parts === 1 ? 'eine weitere' : `${parts} weitere`}`,
      damaged: 'Die Partitionstabelle ist beschädigt. Die Platte wird konvertiert, wie sie ist.',
    },

    needsFile: (need) =>
      `${shownText(need.of)} enthält nur einen Teil der Platte. Der Rest steht in einer anderen Datei (${role(need.role)}):`,
    needsTitle: (name, wanted) => `Zu ${shownText(name)} fehlt die ${role(wanted)}`,
    needsPassword: (name) => `${shownText(name)} ist verschlüsselt`,
    chooseFor: (need) => `${role(need.role)} auswählen`,
    chooseOther: (need) => `Eine andere ${role(need.role)} auswählen`,
    needsFileHint:
      'Oder legen Sie sie hier ab. Nichts wird nach einem Namen geöffnet, der in einem Abbild steht: Sie bestimmen, was gelesen wird.',
    notTheFile: (names) =>
      names.length === 1
        ? `${shownText(names[0]!)} heißt anders als die Datei, die fehlt.`
        : 'Die fehlende Datei ist nicht dabei.',
    useAllTheSame: (name, wanted) => `${shownText(name)} als ${role(wanted)} verwenden`,
    doubt: (name, wanted) => `${shownText(name)} ist vielleicht die falsche ${role(wanted)}`,
    doubtHint: 'Mit einer falschen Datei entsteht eine Platte, die heil aussieht und es nicht ist.',
    useIt: 'Trotzdem verwenden',
    otherName: (name, wanted) => `Das Abbild verlangt ${shownText(wanted)}. Diese Datei heißt ${shownText(name)}.`,
    probablyTheImage: (name) => `${shownText(name)} ist wahrscheinlich das Abbild selbst.`,
    smallerLayer: (name, bytes, above, aboveBytes) =>
      `${shownText(name)} enthält eine Platte von ${size(bytes)}, ${shownText(above)} eine von ${size(aboveBytes)}. Was fehlt, wird als Nullen gelesen. Das ist richtig, wenn die Platte später vergrößert wurde, und sonst falsch.`,
    shortDataFile: (name, bytes, disk) => `${shownText(name)} hat ${size(bytes)}, die Platte ${size(disk)}.`,
    notRaw: (name, format, above) =>
      `${shownText(name)} ist ein ${format}-Abbild, aber laut ${shownText(above)} eine rohe Platte.`,
    noDisk: (name) =>
      `${shownText(name)} ist wahrscheinlich keine Platte: die Länge ist keine ganze Zahl von Sektoren.`,
    guessedRaw: (name) =>
      `${shownText(name)} ist in keinem Format, das Decant kennt. Die Datei würde Byte für Byte als rohe Platte gelesen.`,
    passwordOf: (name) => `Passwort von ${shownText(name)}`,
    passwordHint: 'Es bleibt in diesem Tab und wird vergessen, sobald das Abbild geschlossen wird.',
    unlock: 'Entsperren',
    unlocking: (name) => `${shownText(name)} wird entsperrt`,
    assume: 'Das Passwort stimmt sicher: ohne Prüfung fortfahren',

    salvaging: (bytes) =>
      `Das Abbild ist beschädigt. Was sich nicht lesen lässt, wird zu Nullen${bytes > 0 ? `: mindestens ${size(bytes)}` : ''}.`,
    lost: (bytes, ranges) =>
      `${size(bytes)} in ${ranges === 1 ? 'einem Bereich' : `${ranges} Bereichen`} waren nicht lesbar und sind jetzt Nullen.`,
    lostList: 'Was verloren ging',
    lostMore: (ranges) =>
      `und ${ranges === 1 ? 'ein weiterer Bereich' : `${ranges} weitere Bereiche`}, die hier nicht stehen`,

    unknownCost: 'Wie groß es wird, zeigt sich beim Konvertieren.',
    compressedCost: 'Braucht weniger Platz als die Platte: wie viel, und wie lange es dauert, hängt von den Daten ab.',
    beginsAnew: 'Ein solcher Download, der unterbrochen wird, beginnt von vorn.',
    output: 'Was daraus werden soll',
    outputValue: ({ name, label }) => OUTPUTS[name] ?? label,
    outputRefusal: (output, refusal) => `${texts.outputValue(output)} ist nicht möglich. ${texts.failure(refusal)}`,
    saveHow: 'Wie es gespeichert wird',
    fileName: 'Name der Platte',
    noName: 'Die Platte braucht einen Namen.',
    badName: (character) => `In einem Dateinamen darf kein ${character} stehen.`,
    controlInName: 'In einem Dateinamen dürfen keine Steuerzeichen stehen.',
    nameEnd: 'Ein Dateiname darf nicht mit einem Punkt oder Leerzeichen enden.',
    longName: (bytes, most) =>
      `Der Name ist zu lang: er braucht ${bytes} Bytes, ${most} sind möglich. Umlaute brauchen zwei oder mehr.`,
    folderOfName: 'In diesem Ordner gibt es einen Ordner mit dem Namen. Wählen Sie einen anderen Namen.',
    nameRefused: 'Der Browser lässt diesen Namen nicht zu. Wählen Sie einen anderen.',
    ways: {
      folder: 'In einen Ordner, den Sie auswählen',
      dialog: 'Mit dem Speicherdialog des Browsers',
      download: 'Als Download',
      host: 'Dorthin, wo diese Seite Platten speichert',
    },
    pickedCost: (choice) => {
      const { space, atLeast } = choice;
      if (space === undefined) return 'Belegt nur so viel Platz wie die Daten.';
      return `Belegt ${atLeast ? 'mindestens ' : ''}${size(space)}, so viel Platz wie die Daten.${time(choice)}`;
    },
    downloadCost: (choice, disk) => `Belegt die vollen ${size(disk)}.${time(choice)}`,
    folderChosen: (name) => `Ordner: ${shownText(name)}`,
    otherFolder: 'Anderen Ordner auswählen',
    betterTime: (seconds) => `Am besten für dieses Abbild: etwa ${duration(seconds)} schneller`,
    betterSpace: (bytes, other) =>
      `Am besten für dieses Abbild: belegt ${bytes > 0 ? size(bytes) : 'keinen Platz'} statt ${size(other)}`,
    noPicker: 'Dieser Browser kann nicht in einen ausgewählten Ordner schreiben; Chrome und Edge können es.',
    foreignPicker: 'Diese Seite liegt in einer Seite einer anderen Website; dort kann kein Ort ausgewählt werden.',
    frameDownload: {
      'sandboxed-downloads': 'Die Seite um diese herum erlaubt keine Downloads.',
      'sandboxed-frame': 'Die Seite um diese herum gibt ihr keinen Speicher, den ein Download braucht.',
      'foreign-frame':
        'Diese Seite liegt in einer Seite einer anderen Website; dort gibt ihr dieser Browser keinen Speicher, den ein Download braucht.',
    },
    pickerFailed: 'Der Browser lässt diese Seite nicht nach einem Ort fragen; laden Sie die Platte herunter.',
    streamsForRoom: (room) => `${holds(room)}; sie geht deshalb schon beim Konvertieren zu Ihren Downloads.`,
    noRoom: (room, obstacle, canPick) =>
      `${holds(room)}, und Stück für Stück herunterladen geht nicht: ${clause(obstacle)}. ${canPick ? 'Speichern Sie sie in einen Ordner, den Sie auswählen.' : 'Nehmen Sie Chrome oder Edge, die in einen ausgewählten Ordner schreiben können.'}`,
    mayNotFit: (room) => `${holds(room)}. Ob das Ergebnis hineinpasst, zeigt sich erst beim Konvertieren.`,
    finding: 'Es wird ermittelt, wie dieser Browser sie herunterladen kann.',
    streamsNot: 'diese Seite bietet es nicht an',
    noStream: (reason) => `Der Download konnte nicht beginnen: ${reason}`,
    insecure:
      'Diese Seite kommt nicht über https, deshalb lässt der Browser sie keine Dateien speichern. Öffnen Sie sie über https oder auf localhost.',
    otherTab: 'Auch ein anderer Tab konvertiert gerade; beide werden langsamer.',
    convert: 'Konvertieren',
    noWay: 'Wählen Sie, wie gespeichert wird, oder warten Sie, bis bekannt ist, was am besten geht.',
    picking: 'Der Browser fragt nach dem Ort. Antworten Sie ihm, oder schließen Sie die Frage.',

    replaceTitle: (name, folder) => `In ${shownText(folder)} gibt es schon eine Datei ${shownText(name)}`,
    replaceQuestion: 'Soll sie ersetzt werden, sobald die neue vollständig ist? Bis dahin bleibt sie, wie sie ist.',
    replace: 'Ersetzen',
    sourceTitle: (name) => `${shownText(name)} in diesem Ordner ist das Abbild selbst oder eine Datei, die dazugehört`,
    sourceHint: 'Sie kann nicht durch das ersetzt werden, was daraus entsteht.',
    saveAs: (name) => `Als ${shownText(name)} speichern`,
    goOnTitle: (share) => `${Math.floor(share * 100)} % dieser Platte sind schon fertig`,
    goOnQuestion:
      'Ein Download davon wurde unterbrochen. Was fertig war, liegt im Speicher des Browsers. Dort weitermachen?',
    goOn: 'Weitermachen',
    beginAnew: 'Von vorn beginnen',
    noFolderTitle: 'Es wurde kein Ordner ausgewählt',
    noFolderHint:
      'Browser lehnen manche Ordner ab, etwa den persönlichen Ordner, Schreibtisch und Downloads. Ein Ordner darin geht: legen Sie im Dialog einen neuen an.',
    dialogHint: 'Oder nehmen Sie den Speicherdialog des Browsers, der überall speichern kann.',
    dialogWarning:
      'Er leert eine Datei, die Sie dort auswählen, sofort, auch wenn Sie später abbrechen. Wählen Sie weder das Abbild selbst noch eine Datei, die Sie noch brauchen.',
    useDialog: 'Speicherdialog des Browsers verwenden',

    phase: { converting: 'Wird konvertiert', finishing: 'Wird abgeschlossen' },
    working: (phase, name) => `${phase}: ${shownText(name)}`,
    percent: (share) => `${Math.floor(share * 100)} %`,
    converted: (percent) => `${percent} Prozent fertig`,
    speed: (bytesPerSecond, method) => `${size(bytesPerSecond)}/s ${method === 'streamed' ? 'der Platte' : 'an Daten'}`,
    left: (seconds) => `noch etwa ${duration(seconds)}`,
    leftUnknown: 'fast fertig',
    silent: (seconds) =>
      `Seit ${duration(seconds)} kommt nichts aus dem Netz. Es geht von selbst weiter, wenn es wieder da ist.`,
    silentShort: 'Das Netz ist weg. Es geht weiter, wenn es wieder da ist.',
    waiting: ({ host, status, attempt, completing }) => {
      if (completing) return `Der Server ${shownText(host)} hat alles und schließt den Upload ab.`;
      if (attempt === 0)
        return `Vom Server ${shownText(host)} kommt seit einigen Sekunden nichts. Er wird von selbst noch einmal gefragt.`;
      const answer =
        status === undefined ? 'antwortet nicht oder bricht ab' : `antwortet mit einem Fehler (Status ${status})`;
      return `Der Server ${shownText(host)} ${answer}. Er wurde ${attempt === 1 ? 'einmal' : `${attempt}-mal`} gefragt und wird von selbst wieder gefragt.`;
    },
    waitingShort: (host) => `Der Server ${shownText(host)} wird abgewartet.`,
    finishing: 'Der Browser prüft die ganze Datei, bevor er sie übergibt. Wie weit er ist, sagt er nicht.',
    cancel: 'Abbrechen',
    cancelling: 'Wird abgebrochen',
    cancelWaits:
      'Der Browser lässt sich nicht anhalten, während er eine Datei abschließt; sie wird gleich danach entfernt.',
    cancelTooLate: 'Der Browser lässt sich nicht anhalten, während er eine Datei abschließt: sie wird vollständig.',
    wasTooLate:
      'Der Abbruch kam, als der Browser die Datei abschloss, was sich nicht anhalten lässt: sie ist vollständig.',
    keepOpen: 'Lassen Sie diesen Tab offen.',
    notify: 'Sagen, wenn es fertig ist',
    notifyRefused: 'Der Browser erlaubt dieser Seite keine Benachrichtigungen.',

    done: 'Fertig',
    doneDamaged: 'Fertig, aber die Platte ist beschädigt',
    doneSaving: 'Fertig konvertiert; der Browser speichert noch',
    place: (place, copying) => {
      switch (place.kind) {
        case 'folder':
          return `${shownText(place.name)} liegt im Ordner ${shownText(place.folder.name)}.`;
        case 'dialog':
          return `${shownText(place.name)} liegt dort, wo Sie es wollten.`;
        case 'host':
          return `Diese Seite hat ${shownText(place.name)} ganz übernommen.`;
        case 'streamed':
          return `Der Browser hat ${shownText(place.name)} ganz. Seine Liste der Downloads zeigt, wann die Datei fertig ist.`;
        case 'stored':
          return `Der Browser kopiert ${shownText(place.name)} zu Ihren Downloads${copying && copying >= 2 ? `, wahrscheinlich ${roughly(copying)} lang` : ''}. Seine Liste der Downloads zeigt, wann das fertig ist. Lassen Sie diesen Tab bis dahin offen.`;
      }
    },
    copied: (name) =>
      `Der Browser hat ${shownText(name)} zu Ihren Downloads kopiert. Seine Liste der Downloads zeigt, ob die Datei vollständig ist.`,
    copyKept: (bytes) =>
      `${size(bytes)} im Speicher des Browsers, die er zum Speichern der Datei braucht. Sie verschwinden von selbst, in etwa ${duration(copyLifetime(bytes) / 1000)} oder wenn die Seite wieder geöffnet wird.`,
    details: 'Einzelheiten',
    facts: {
      disk: 'Platte',
      written: 'Geschrieben',
      time: 'Zeit insgesamt',
      converting: 'Davon Konvertieren',
      copy: 'Kopie',
      method: 'Weg',
      engine: 'Gearbeitet haben',
      threads: 'Threads',
    },
    writtenValue: (result, method) =>
      method === 'picked' && result.holeBytes > 0
        ? `${size(result.bytesWritten)}; ${size(result.holeBytes)} sind Löcher, die keinen Platz belegen`
        : size(method === 'host' ? result.bytesWritten : result.outputSize),
    timeValue: (seconds) => (seconds < 1 ? 'weniger als eine Sekunde' : duration(seconds)),
    convertingValue: (seconds, speed, method) =>
      speed === undefined ? texts.timeValue(seconds) : `${texts.timeValue(seconds)}, ${texts.speed(speed, method)}`,
    methodValue: {
      picked: 'mit Löchern dorthin geschrieben, wohin Sie wollten',
      stored: 'in den Speicher des Browsers geschrieben, dann zu den Downloads kopiert',
      streamed: 'beim Konvertieren zu den Downloads geschickt',
      host: 'an diese Seite übergeben',
    },
    engineValue: ({ engine, workers }) => {
      if (engine === 'threads') return `${workers} Threads mit gemeinsamem Speicher`;
      return workers === 1 ? 'ein Worker' : `${workers} Worker`;
    },
    notIsolated:
      'Diese Seite teilt keinen Speicher zwischen Threads; ihr Server müsste es erlauben. Worker brauchen das nicht.',
    convertAnother: 'Noch ein Abbild konvertieren',

    failed: 'Das hat nicht geklappt',
    notOpened: (name) => `${shownText(name)} konnte nicht geöffnet werden`,
    notConverted: (name) => `${shownText(name)} konnte nicht konvertiert werden`,
    cancelled: 'Abgebrochen.',
    nothingLeft: 'Nichts ist zurückgeblieben.',
    partKept:
      'Was fertig war, bleibt eine Woche lang im Speicher des Browsers. Um dort weiterzumachen, wandeln Sie das Abbild noch einmal um.',
    streamLeft: (name) =>
      `Die Liste der Downloads zeigt, dass ${shownText(name)} gescheitert ist. Was davon geblieben ist, ist keine ganze Platte.`,
    asItWas: (name) => `${shownText(name)} ist, wie es war.`,
    emptyLeft: (name) => `Eine leere Datei ${shownText(name)} ist dort geblieben, wo Sie sie wollten; sonst nichts.`,
    fileLeft: (name) =>
      `Sehen Sie sich ${shownText(name)} an, bevor Sie es verwenden: es ist vielleicht nicht mehr, was es war, und keine ganze Platte.`,
    folderMoved: (folder, name, swap, replaces) =>
      replaces
        ? `Der Ordner ${shownText(folder)} wurde verschoben, umbenannt oder entfernt. ${shownText(name)} darin ist, wie es war; löschen Sie ${shownText(swap)} daneben.`
        : `Der Ordner ${shownText(folder)} wurde verschoben, umbenannt oder entfernt. Löschen Sie ${shownText(name)} und ${shownText(swap)} darin: keine davon ist eine ganze Platte.`,
    fileMoved: (name, swap) =>
      `${shownText(name)} oder der Ordner dazu wurde verschoben, umbenannt oder entfernt. Löschen Sie die Datei und ${shownText(swap)} daneben: keine davon ist eine ganze Platte.`,
    unknownLeft: (name) => `Ob bei ${shownText(name)} etwas geblieben ist, lässt sich von hier nicht sehen.`,
    next: {
      raw: 'Als rohe Platte lesen',
      salvage: 'Retten, was lesbar ist',
      again: 'Noch einmal versuchen',
      saveAgain: 'Zurück zum Abbild',
      filesAgain: 'Die Dateien dazu neu auswählen',
      next: 'Weiter mit dem Nächsten',
      another: 'Eine andere Datei wählen',
    },
  };

  return texts;
}
