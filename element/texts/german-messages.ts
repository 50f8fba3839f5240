// Errors, notices and lost ranges in German, by their codes. An error without a German sentence shows its kind in German and its
// message in English.

import type { ErrorKind, Fields, LostRange, Notice } from 'decant';
import type { Failed } from '../types.texts.js';
import { germanDamage, germanErrors, germanNotices, name, type Sentences } from './german-sentences.js';
import { sentence } from './sentences.js';
import type { Units } from './units.js';

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

/** The sentence for `code`, if there is one. */
function found(sentences: Sentences, code: string, fields: Fields): string | undefined {
  const sentence = Object.hasOwn(sentences, code) ? sentences[code] : undefined;
  return typeof sentence === 'function' ? sentence(fields) : sentence;
}

export function germanMessages(units: Units) {
  const { size, binarySize } = units;
  const [errors, notices] = [germanErrors(units), germanNotices(units)];

  const failure = ({ kind, code, fields, message }: Failed): string => {
    const known = found(errors, code, fields);
    // What the page around says itself is in its language.
    const text =
      known ??
      (code === 'from-page' ? sentence(message) : `${KINDS[kind]} Auf Englisch: ${sentence(fields.reason ?? message)}`);
    return fields.file === undefined || kind === 'missing-file' ? text : `${name(fields.file)}: ${text}`;
  };

  const notice = ({ code, fields, message }: Notice, hasGpt: boolean | undefined): string => {
    if (code !== 'disk-grows') return found(notices, code, fields) ?? `Auf Englisch: ${sentence(message)}`;
    const [added, unit] = [size(Number(fields.added)), binarySize(Number(fields.unit))];
    const grows = `Die Platte wächst um ${added} Nullen: ihre Größe muss ein Vielfaches von ${unit} sein.`;
    if (hasGpt === undefined) return `${grows} Hat sie eine GPT, liegt deren Kopie dann nicht mehr am Ende.`;
    return hasGpt ? `${grows} Die Kopie ihrer GPT liegt dann nicht mehr am Ende.` : grows;
  };

  const lostRange = ({ start, length, code, reason }: LostRange): string =>
    `${length} Bytes ab ${start}: ${found(germanDamage, code, {}) ?? reason}`;

  return { failure, notice, lostRange };
}
