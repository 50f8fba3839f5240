// Errors, notices and lost ranges in German, by their codes. For an error without a German sentence, the German text states
// its kind and quotes the English message.

import type { ErrorKind, LostRange, Notice } from 'decant';
import type { Failed } from '../../types.texts.js';
import { found, name, ofDisk } from '../sentences.js';
import type { Units } from '../wording.js';
import { inEnglish, sentence } from '../wording.js';
import { germanDamage, germanErrors, germanNotices } from './sentences.js';

const KINDS: Record<ErrorKind, string> = {
  'not-recognised': 'Das ist kein Festplattenabbild, das Decant kennt.',
  unsupported: 'Das Abbild benutzt etwas, das Decant nicht liest.',
  corrupt: 'Das Abbild ist beschädigt.',
  limit: 'Das Abbild überschreitet eine Grenze.',
  'missing-file': 'Eine Datei fehlt, auf die das Abbild verweist.',
  password: 'Das Passwort fehlt oder passt nicht.',
  source: 'Das Abbild lässt sich nicht lesen.',
  target: 'Das Ergebnis lässt sich nicht schreiben.',
  cancelled: 'Abgebrochen.',
  usage: 'Das geht hier nicht.',
  internal: 'In Decant oder im Browser ist etwas schiefgegangen.',
};

export function germanMessages(units: Units) {
  const [errors, notices] = [germanErrors(units), germanNotices(units)];

  const failure = ({ kind, code, fields, message }: Failed): string => {
    const known = found(errors, code, fields, kind);
    // The page writes this message in its own language.
    const text =
      known ??
      (code === 'from-page'
        ? sentence(message)
        : `${KINDS[kind]} Auf Englisch: ${inEnglish(sentence(fields.reason ?? message))}`);
    const ofFile = fields.file === undefined || kind === 'missing-file' ? text : `${name(fields.file)}: ${text}`;
    return ofDisk(fields, ofFile);
  };

  const notice = ({ code, fields, message }: Notice): string => {
    const known = found(notices, code, fields);
    return known === undefined ? `Auf Englisch: ${inEnglish(sentence(message))}` : ofDisk(fields, known);
  };

  const lostRange = ({ disk, offset, length, code, message }: LostRange): string =>
    `${disk === undefined ? '' : `Platte ${disk}, `}${length}\u00a0Bytes ab ${offset}: ${found(germanDamage, code, {}) ?? message}`;

  return { failure, notice, lostRange };
}
