// Texts that are not ours, as the command prints them and as the package tells them.

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DecantError, open, shownText } from '../../dist/node.js';
import { HIDDEN, NASTY, NASTY_SHOWN, places } from '../support/hostile.js';
import { expect, test } from '../support/node.js';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const table = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../crate/tests/shown.json', import.meta.url)), 'utf8'),
) as { hidden: [number, number][]; cases: [string, string][] };

/** The longest line: a message, and what is before it. */
const LONGEST_LINE = 1020;

test('the rule is that of the core', () => {
  for (const [text, shown] of table.cases) {
    expect(shownText(text)).toBe(shown);
    expect(shownText(shown)).toBe(shown);
  }
  const surrogate = [0xd800, 0xdfff];
  const wrong = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const hidden = [...table.hidden, surrogate].some(([first, last]) => code >= first! && code <= last!);
    if (shownText(String.fromCodePoint(code)).startsWith('\\u') !== hidden) wrong.push(code.toString(16));
  }
  expect(wrong).toEqual([]);
  expect(shownText('a\ud800b\udc00')).toBe('a\\ud800b\\udc00');
});

function decant(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8', timeout: 60_000, maxBuffer: 1 << 28 });
}

/** Every line, after a check that a terminal can show it. */
function linesOf({ stdout, stderr }: { stdout: string; stderr: string }): string[] {
  const lines = `${stdout}${stderr}`.split('\n');
  for (const line of lines) expect(HIDDEN.exec(line), line.slice(0, 300)).toBe(null);
  return lines;
}

for (const [place, { room, make }] of Object.entries(places)) {
  test(`a name in an image, ${place}: shown escaped and cut, whole in JSON`, ({ folder }) => {
    const [path, output, password] = ['image.qcow2', 'out.raw', 'password'].map((name) => join(folder, name));
    writeFileSync(password!, 'secret');
    const asked = place === 'LUKS mode' ? ['--password-file', password!] : ['--snapshot', 'none'];
    const commands = [
      ['info', path!],
      ['map', path!],
      ['convert', ...asked, path!, output!],
    ];
    const counts = [];
    // A harmless name first: no other has more lines.
    for (const name of ['name', NASTY, 'x'.repeat(room), '\n'.repeat(room)]) {
      writeFileSync(path!, make(name));
      const runs = commands.map((args) => linesOf(decant(...args)));
      counts.push(runs.map((lines) => lines.length));
      for (const line of runs.flat()) expect(line.length, line.slice(0, 300)).toBeLessThanOrEqual(LONGEST_LINE);
      if (name === NASTY) expect(runs.flat().join('\n')).toContain(NASTY_SHOWN);
      const json = decant('info', '--output=json', path!);
      linesOf(json);
      // Of an unknown feature there is a message alone.
      if (place === 'feature') continue;
      const texts: unknown[] = [];
      JSON.parse(json.stdout, (_key, value) => texts.push(value));
      const whole = place === 'LUKS mode' ? name.split('-')[0]!.split('\0')[0] : name;
      expect(texts.includes(whole), `${place}: ${json.stdout.slice(0, 300)}`).toBe(true);
    }
    for (const count of counts) expect(count).toEqual(counts[0]);
  });
}

test('the name of a file, and what was typed', ({ folder }) => {
  const name = NASTY.replaceAll('/', '');
  const [path, other, output] = [join(folder, `${name}.qcow2`), join(folder, name), join(folder, 'out.raw')];
  writeFileSync(path, places['backing file'].make('base.raw'));
  writeFileSync(other, 'no image');
  // (arguments, how many lines there are besides those of the image's own description)
  const cases: [string[], number][] = [
    [['info', other], 1],
    [['info', join(folder, `${name}.none`)], 1],
    [['convert', path, output], 1],
    [['convert', '--with', `${name}=${join(folder, 'none')}`, path, output], 1],
    [['convert', '--with', other, path, output], 1],
    [['convert', path, `${folder}/${name}/out.raw`], 1],
    [['convert', '--snapshot', name, path, output], 1],
    [['convert', '-f', name, path, output], 1],
    [['convert', '-O', name, path, output], 1],
    [['convert', '-m', name, path, output], 1],
    [['convert', '--password-file', `${name}.none`, path, output], 1],
    [['convert', `--${name}`, path, output], 1],
    [['info', `--output=${name}`, path], 1],
    [[name], 1],
    [['info', path, other, 'x'.repeat(100_000)], 1],
    [['info', 'x'.repeat(100_000)], 1],
  ];
  for (const [args, count] of cases) {
    const result = decant(...args);
    const lines = linesOf(result);
    const what = args.join(' ').slice(0, 200);
    expect(result.stdout, what).toBe('');
    expect(lines.length - 1, what).toBe(count);
    for (const line of lines) expect(line.length, what).toBeLessThanOrEqual(LONGEST_LINE);
  }
  const info = decant('info', '--with', other, path);
  linesOf(info);
  expect(info.stdout.split('\n')[0]).toBe(`image: ${shownText(path)}`);
  expect(info.stdout.match(/^b= /m)).toBe(null);
  const json = decant('info', '--output=json', path);
  linesOf(json);
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
