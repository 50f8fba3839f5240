// docs/element.md lists the custom properties with their defaults, and nothing else decides on colours, radii, spaces and fonts.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { COMPRESSED } from './picture/painter.js';
import { styles } from './styles.js';

const [, host = '', rules = ''] = /:host \{\n(.*?)\n {2}\}(.*)/s.exec(styles.cssText)!;
const documented = readFileSync(new URL('../docs/element.md', import.meta.url), 'utf8');
const [, rows = ''] = documented.split('| custom property | default | use |\n|---|---|---|\n');
const [table = ''] = rows.split('\n\n');

const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name, value]) => [name, value]);

test('each custom property is documented with its default', () => {
  const declared = matches(host, /^ *(--[\w-]+): (.*);$/gm);
  expect(declared.length).toBeGreaterThan(20);
  expect(matches(table, /^\| `([\w-]+)` \| `(.+?)` \| .+ \|$/gm)).toEqual(declared);
});

test('each custom property is used', () => {
  const used = new Set(styles.cssText.match(/(?<=var\()--[\w-]+/g));
  expect(matches(host, /^ *(--[\w-]+): (.*);$/gm).filter(([name]) => !used.has(name!))).toEqual([]);
});

/** Values that custom properties state: all but those that depend on the text or on others, and 0. */
test.each([
  ['colours', /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|light-dark)\(/g],
  ['lengths of the page or the window', /\d(?:rem|v[wh])\b/g],
  ['radii', /radius: (?!var\(|0;)[^;]+/g],
  ['spaces', /(?:gap|margin|padding)[a-z-]*: [^;]*?\d(?:px|em|%)[^;]*/g],
  ['fonts', /font(?:-family|-size|-weight)?: (?!var\(|inherit|1em)[^;]+/g],
  ['heights of lines', /line-height: (?!var\(|1\.2)[^;]+/g],
])('rules state no %s of their own', (_, pattern) => {
  expect(rules.match(pattern) ?? []).toEqual([]);
});

type Colour = [red: number, green: number, blue: number];

const mix = (one: Colour, share: number, other: Colour) =>
  one.map((value, at) => value * share + other[at]! * (1 - share)) as Colour;

/** The relative luminance of a colour of sRGB (WCAG 2). */
function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Colour;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Colour, other: Colour): number {
  const [least = 0, most = 0] = [one, other].map(luminance).sort((a, b) => a - b);
  return (most + 0.05) / (least + 0.05);
}

/** The colour of a custom property in light, or in dark. */
function colourIn(scheme: 'light' | 'dark', name: string): Colour {
  const pair = new RegExp(`--decant-${name}: .*?light-dark\\(#(\\w{6}), #(\\w{6})\\)`).exec(host)!;
  const colour = pair[scheme === 'light' ? 1 : 2]!;
  return [0, 2, 4].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as Colour;
}

const shareIn = (pattern: RegExp): number => Number(pattern.exec(styles.cssText)![1]) / 100;

test.each([
  'light',
  'dark',
] as const)('data of each layer stands out from empty cells, also compressed: %s', (scheme) => {
  const of = (name: string) => colourIn(scheme, name);
  // Black on white, or the reverse, where colours are forced.
  const [text, canvas] = (scheme === 'light' ? [0, 255] : [255, 0]).map((grey): Colour => [grey, grey, grey]);
  const forced = mix(text!, shareIn(/swatch\.empty \{ background: color-mix\(in srgb, CanvasText (\d+)%/), canvas!);
  const data = mix(of('accent'), shareIn(/--decant-data: .* (\d+)%/), of('data'));
  for (const layer of [data, of('layer-2'), of('layer-3')])
    for (const share of [1, COMPRESSED]) {
      expect(contrast(mix(layer, share, of('card')), of('line'))).toBeGreaterThan(3);
      expect(contrast(mix(layer, share, canvas!), forced)).toBeGreaterThan(3);
    }
  expect(shareIn(/\.compressed \{ background: color-mix\(in srgb, var\(--decant-data\) (\d+)%/)).toBe(COMPRESSED);
});
