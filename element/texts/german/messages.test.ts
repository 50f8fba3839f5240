// Failures, notices and lost ranges in German.

import type { ErrorKind } from 'decant';
import { expect, test } from 'vitest';
import { FORMATS } from '../../../worker/public/registry.js';
import { DAMAGE, ERRORS, NOTICES } from '../codes.test-support.js';
import { clause, inEnglish, partsOf, sentence, unitsOf } from '../wording.js';
import { FOREIGN, STRANGERS } from './formats.js';
import { germanMessages } from './messages.js';
import { germanDamage, germanErrors, germanNotices } from './sentences.js';

const { failure, notice, lostRange } = germanMessages(unitsOf({ language: 'de', bytes: 'Bytes', days: 'Tage' }));
const ENGLISH = 'The sky is falling';
const inGerman = (text: string): boolean => !text.includes(ENGLISH) && !text.includes('Englisch');

test('a sentence with a missing field is replaced by the English one, which is marked', () => {
  const missing = { kind: 'missing-file', code: 'missing-file', message: ENGLISH } as const;
  const text = failure({ ...missing, fields: { file: 'base' } });
  expect(partsOf(text)).toEqual([expect.stringMatching(/^[^:]*\. Auf Englisch: $/), `${ENGLISH}.`, '']);
  expect(inGerman(failure({ ...missing, fields: { file: 'base', neededBy: 'top' } }))).toBe(true);
});

test.each([
  ['missing-file', 'missing-file', { file: 'd.002', neededBy: 'd.001', role: 'part' }, /^d\.002 fehlt, .* alle Teile/],
  ['corrupt', 'parts-needed', { first: 'd.001', last: 'd.001', count: 1 }, / ist d\.001 der erste Teil /],
  ['corrupt', 'parts-needed', { first: 'd.001', last: 'd.003', count: 3 }, / sind d\.001 bis d\.003 die ersten Teile /],
] as const)('parts of a split file: %s %s %o', (kind, code, fields, text) => {
  expect(failure({ kind, code, fields, message: ENGLISH }).replace(/[\u2066-\u2069]/g, '')).toMatch(text);
});

test('damage is described like a lost range', () => {
  const fields = { damage: 'compressed-invalid', offset: 512 };
  expect(failure({ kind: 'corrupt', code: 'corrupt', fields, message: ENGLISH })).toBe(
    'Das Abbild ist beschädigt: ein komprimierter Cluster ergibt keinen ganzen Cluster (bei Byte 512 der Datei).',
  );
});

test.each([
  // A text is in no list of formats: in an archive it may be a raw disk.
  ['strangers', ['machine', 'stranger'], STRANGERS, ['text']],
  ['foreign', ['unsupported'], FOREIGN, []],
])('each format of %s.rs, which is not read, has a German name', (_, kinds, names, more) => {
  const formats = FORMATS.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
  expect(formats.length).toBeGreaterThan(9);
  expect(Object.keys(names)).toEqual([...formats, ...more]);
});

test('a file in a format that is not read is called by its name, with advice', () => {
  const fields = { format: 'ovf' };
  expect(failure({ kind: 'not-recognised', code: 'not-an-image', fields, message: ENGLISH })).toBe(
    'Das ist kein Festplattenabbild, sondern ein OVF-Deskriptor (.ovf). Öffnen Sie die Platte, die er nennt.',
  );
  expect(failure({ kind: 'not-recognised', code: 'not-an-image', fields: { format: 'pdf' }, message: ENGLISH })).toBe(
    'Das ist kein Festplattenabbild, sondern ein PDF. Öffnen Sie stattdessen eines, etwa eine .qcow2-, .vmdk-, .vdi- oder .vhdx-Datei.',
  );
  expect(failure({ kind: 'unsupported', code: 'format-not-read', fields: { format: 'bochs' }, message: ENGLISH })).toBe(
    'Das ist eine Platte von Bochs. Decant liest dieses Format nicht. Machen Sie mit qemu-img convert eine rohe Platte daraus.',
  );
});

// (kind, status, text)
test.each([
  ['source', 401, 'Der Server host verlangt eine Anmeldung (Status 401).'],
  ['source', 403, 'Der Server host erlaubt das nicht, oder die Adresse ist abgelaufen (Status 403).'],
  ['source', 404, 'Auf dem Server host gibt es diese Datei nicht (Status 404).'],
  ['source', 410, 'Auf dem Server host gibt es diese Datei nicht mehr (Status 410).'],
  ['source', 418, 'Der Server host lehnt ab (Status 418).'],
  ['source', 429, 'Der Server host bekommt zu viele Anfragen (Status 429).'],
  ['source', 503, 'Der Server host hat einen Fehler oder ist überlastet (Status 503).'],
  ['target', 404, 'Auf dem Server host gibt es diesen Ort nicht, oder der Upload ist abgelaufen (Status 404).'],
  ['target', 412, 'Auf dem Server host liegt dort schon etwas (Status 412).'],
  ['source', 412, 'Der Server host lehnt ab (Status 412).'],
] as [ErrorKind, number, string][])('a server refuses: %s, %i', (kind, status, text) => {
  const fields = { host: 'host', status };
  expect(failure({ kind, code: 'http-status', fields, message: ENGLISH })).toBe(text);
  const retrying = { kind, code: 'http-status', fields: { ...fields, retryAfter: 20 }, message: ENGLISH };
  expect(failure(retrying)).toBe(`${text} Er bittet, 20\u00a0s zu warten.`);
});

test('a raw disk in a container is not called by the name of the container', () => {
  const text = notice({ code: 'guessed-raw', fields: { container: 'gzip' }, message: ENGLISH });
  expect(text).toMatch(/^Der Inhalt der Datei \(gzip\) ist in keinem Format/);
});

test('a notice about a layer names it', () => {
  const text = notice({ code: 'marked-corrupt', fields: { file: 'base.qcow2' }, message: ENGLISH });
  expect(text).toBe('base.qcow2 ist als beschädigt gekennzeichnet.');
  expect(notice({ code: 'marked-corrupt', fields: {}, message: ENGLISH })).toMatch(/^Das Abbild ist/);
});

test('optional fields may be missing', () => {
  const notices = ['guessed-raw', 'manifest-unchecked'].map((code) => notice({ code, fields: {}, message: ENGLISH }));
  const full = failure({ kind: 'target', code: 'storage-full', fields: {}, message: ENGLISH });
  for (const text of [...notices, full]) expect(text).toMatch(/^(?!.*(?:undefined|NaN|\?)).*\.$/);
});

test('each sentence has a documented code', () => {
  const units = unitsOf({ language: 'de', bytes: 'Bytes', days: 'Tage' });
  for (const [sentences, rows] of [
    [germanErrors(units), ERRORS],
    [germanNotices(units), NOTICES],
    [germanDamage, DAMAGE],
  ] as const) {
    const codes = rows.map(({ code }) => code);
    expect(Object.keys(sentences).filter((code) => !codes.includes(code))).toEqual([]);
  }
});

test('a code without a sentence shows its kind in German and its message in English', () => {
  const unknown = { code: 'of-tomorrow', fields: {}, message: ENGLISH };
  expect(failure({ kind: 'corrupt', ...unknown })).toBe(
    `Das Abbild ist beschädigt. Auf Englisch: ${inEnglish(`${ENGLISH}.`)}`,
  );
  expect(notice(unknown)).toBe(`Auf Englisch: ${inEnglish(`${ENGLISH}.`)}`);
  expect(lostRange({ offset: 5, length: 7, code: 'of-tomorrow', message: ENGLISH })).toBe(
    `7\u00a0Bytes ab 5: ${ENGLISH}`,
  );
  const left = { ...unknown, fields: { reason: 'It is full', left: 'a part is left' } };
  expect(failure({ kind: 'target', ...left })).toContain('It is full.');
});

test('a message of the page is unchanged, and a companion is named', () => {
  expect(failure({ kind: 'target', code: 'from-page', fields: {}, message: 'Ihr Platz ist voll' })).toBe(
    'Ihr Platz ist voll.',
  );
  const truncated = { kind: 'corrupt', code: 'truncated', fields: { file: 'base.qcow2' }, message: ENGLISH } as const;
  expect(failure(truncated)).toMatch(/^base\.qcow2: Das Abbild ist abgeschnitten/);
});

test('sentences end with one full stop, clauses with none', () => {
  const all = ['It is damaged', 'It is damaged.', 'Why?', 'No!'];
  expect(all.map(sentence)).toEqual(['It is damaged.', 'It is damaged.', 'Why?', 'No!']);
  expect(['it is full', 'it is full.'].map(clause)).toEqual(['it is full', 'it is full']);
});

test('one of several disks is named', () => {
  const fields = { disk: 'vm.tar: b.qcow2' };
  const damaged = { kind: 'corrupt', code: 'gzip-damaged', fields, message: ENGLISH } as const;
  expect(failure(damaged)).toMatch(/^vm\.tar: b\.qcow2: Die komprimierten Daten/);
  expect(notice({ code: 'marked-corrupt', fields, message: ENGLISH })).toMatch(/^vm\.tar: b\.qcow2: Das Abbild ist/);
  const grows = { code: 'disk-grows', fields: { ...fields, added: 1, unit: 512 }, message: ENGLISH };
  expect(notice(grows)).toMatch(/^vm\.tar: b\.qcow2: Am Ende/);
  expect(lostRange({ disk: 2, offset: 5, length: 7, code: 'of-tomorrow', message: ENGLISH })).toBe(
    `Platte 2, 7\u00a0Bytes ab 5: ${ENGLISH}`,
  );
});
