// Foreign texts, as printed by the command and returned by the package. The rule itself is in worker/errors/shown.test.ts.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DecantError, type DiskImage, type OpenOptions, open, shownText } from '../../dist/node.js';
import { failureText } from '../../worker/cli/failure-text.js';
import { infoJson, infoText } from '../../worker/cli/info-report.js';
import { escaped } from '../../worker/errors/shown.js';
import { closing } from '../support/closing.js';
import { decant, type Ended } from '../support/command.js';
import { HIDDEN, NASTY, NASTY_SHOWN, places } from '../support/hostile.js';
import { expect, FULL, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const printed = ({ stdout, stderr }: Ended): string => stdout + stderr;

/** The longest line: a message and its prefix. */
const LONGEST_LINE = 1020;

/** Every line, after a check that a terminal can show it. */
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  for (const line of lines) {
    expect(HIDDEN.exec(line), line.slice(0, 300)).toBe(null);
    expect(line.length, line.slice(0, 300)).toBeLessThanOrEqual(LONGEST_LINE);
  }
  return lines;
}

/** Checks that JSON which is printed can be shown by a terminal, and holds `text`. */
function checkJson(json: string, text: string): void {
  expect(json.split('\n').map((line) => HIDDEN.exec(line))).not.toContainEqual(expect.anything());
  const texts: unknown[] = [];
  JSON.parse(json, (_key, value) => texts.push(value));
  expect(texts.includes(text), json.slice(0, 300)).toBe(true);
}

/** The command's description of an image in memory, or the failure, as text and as JSON. */
async function described(image: Buffer): Promise<{ text: string; json: string | undefined }> {
  try {
    return await closing(await open(image), async ({ info }) => ({
      text: (await infoText(info, '-')).join('\n'),
      json: (await infoJson(info, '-')).map(escaped).join('\n'),
    }));
  } catch (thrown) {
    return { text: failureText(thrown as DecantError), json: undefined };
  }
}

/** The errors of a conversion and a map of the image, as printed by the command; the text of an empty map. */
async function failing(
  image: Buffer,
  options: OpenOptions,
  use: (opened: DiskImage) => Promise<unknown>,
): Promise<string> {
  try {
    await closing(await open(image, options), use);
    return '';
  } catch (thrown) {
    return failureText(thrown as DecantError);
  }
}

for (const [place, { room, make }] of Object.entries(places)) {
  const isLuks = place === 'LUKS mode';
  /** The complete shown name. */
  const whole = (name: string) => (isLuks ? name.split('-')[0]!.split('\0')[0]! : name);
  // A harmless name first: no other has more lines.
  const names = ['name', NASTY, 'x'.repeat(room), '\n'.repeat(room)];

  test(`a name in an image, ${place}: shown escaped and cut, whole in JSON`, async () => {
    const counts = [];
    for (const name of names) {
      const image = make(name);
      const { text, json } = await described(image);
      const texts = [
        text,
        await failing(image, {}, (opened) => opened.map().next()),
        await failing(image, isLuks ? { password: 'secret' } : { snapshot: 'none' }, (opened) =>
          opened.convert(new WritableStream()),
        ),
      ];
      counts.push(texts.map((one) => linesOf(one).length));
      if (name === NASTY) expect(texts.join('\n')).toContain(NASTY_SHOWN);
      // Of an unknown feature there is a message alone.
      expect(json === undefined).toBe(place === 'feature');
      if (json !== undefined) checkJson(json, whole(name));
    }
    for (const count of counts) expect(count).toEqual(counts[0]);
  });

  test(`the command: a name in an image, ${place}`, place === 'backing file' ? {} : FULL, ({ folder }) => {
    const [path, output, password] = ['image.qcow2', 'out.raw', 'password'].map((name) => join(folder, name));
    writeFileSync(password!, 'secret');
    const asked = isLuks ? ['--password-file', password!] : ['--snapshot', 'none'];
    const commands = [
      ['info', path!],
      ['map', path!],
      ['convert', ...asked, path!, output!],
    ];
    const counts = [];
    for (const name of names.slice(0, byScope({ short: 1, full: names.length }))) {
      writeFileSync(path!, make(name));
      const runs = commands.map((args) => printed(decant(...args)));
      counts.push(runs.map((text) => linesOf(text).length));
      if (name === NASTY) expect(runs.join('\n')).toContain(NASTY_SHOWN);
      if (place !== 'feature') checkJson(decant('info', '--output=json', path!).stdout, whole(name));
    }
    for (const count of counts) expect(count).toEqual(counts[0]);
  });
}

/** Files with a hostile name in `folder`: an image, no image, and an output. */
function hostileFiles(folder: string) {
  const name = NASTY.replaceAll('/', '');
  const [path, other, output] = [join(folder, `${name}.qcow2`), join(folder, name), join(folder, 'out.raw')];
  writeFileSync(path, places['backing file'].make('base.raw'));
  writeFileSync(other, 'no image');
  return { name, path, other, output };
}

// Mistakes in the arguments alone are in worker/cli/command.test.ts, too.
for (const [title, details, commandsOf] of [
  [
    'the name of a file',
    {},
    ({ name, path, other, output }) => [
      ['info', other],
      ['info', join(other, `${name}.none`)],
      ['convert', path, output],
      ['convert', '--with', other, path, output],
      ['convert', '--snapshot', name, path, output],
      ['convert', '-O', name, path, output],
      ['info', 'x'.repeat(100_000)],
    ],
  ],
  [
    'the name of a file, and what was typed',
    FULL,
    ({ name, path, other, output }) => [
      ['info', `${other}.none`],
      ['convert', '--with', `${name}=${other}.none`, path, output],
      ['convert', path, join(other, 'out.raw')],
      ['convert', '-f', name, path, output],
      ['convert', '-m', name, path, output],
      ['convert', '--password-file', `${name}.none`, path, output],
      ['convert', `--${name}`, path, output],
      ['info', `--output=${name}`, path],
      [name],
      ['info', path, other, 'x'.repeat(100_000)],
    ],
  ],
] satisfies [string, object, (files: ReturnType<typeof hostileFiles>) => string[][]][]) {
  test(`${title}, in a failure`, details, ({ folder }) => {
    for (const args of commandsOf(hostileFiles(folder))) {
      const { stdout, stderr } = decant(...args);
      const what = args.join(' ').slice(0, 200);
      expect(stdout, what).toBe('');
      expect(linesOf(stderr), what).toEqual([expect.stringMatching(/^decant: /), '']);
    }
  });
}

test('the name of a file, in a description', ({ folder }) => {
  const { path, other } = hostileFiles(folder);
  const info = decant('info', '--with', other, path);
  linesOf(printed(info));
  expect(info.stdout.split('\n')[0]).toBe(`image: ${shownText(path)}`);
  expect(info.stdout.match(/^b= /m)).toBe(null);
  const json = decant('info', '--output=json', path);
  checkJson(json.stdout, path);
  expect(JSON.parse(json.stdout).filename).toBe(path);
});

test('the package gives names whole and messages bounded', async () => {
  for (const name of [NASTY, 'x'.repeat(1 << 20)]) {
    const image = await open(places['data file'].make(name));
    expect(image.info.references[0]?.name).toBe(name);
    expect(image.info.needs).toMatchObject([{ kind: 'missing-file', name }]);
    for (const { message } of image.info.safety) {
      expect(message.length).toBeLessThanOrEqual(1000);
      expect(HIDDEN.exec(message)).toBe(null);
    }
    const failure = await image.convert('/dev/null/none').catch((error: Error) => error);
    await image.close();
    const unknown = await open(places['backing file'].make('base.raw'), { snapshot: name }).catch((error) => error);
    for (const error of [failure, unknown]) {
      expect(error).toBeInstanceOf(DecantError);
      const { message } = error as DecantError;
      expect(message.length).toBeLessThanOrEqual(1000);
      expect(HIDDEN.exec(message)).toBe(null);
    }
  }
});
