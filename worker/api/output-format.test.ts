import { describe, expect, test } from 'vitest';
import type { OutputFormat } from '../public/types.js';
import { chosenFormat } from './output-format.js';

const raw: OutputFormat = {
  name: 'raw',
  label: 'Raw disk',
  extension: '.raw',
  options: [],
  compressed: false,
  hasFooter: false,
  notices: [],
};
const vpc: OutputFormat = {
  ...raw,
  name: 'vpc',
  options: [
    { name: 'subformat', values: ['fixed'] },
    { name: 'size', values: ['small', 'large'] },
  ],
};
const refused: OutputFormat = {
  ...vpc,
  name: 'huge',
  refusal: { kind: 'limit', code: 'vhd-too-large', fields: { size: 5 }, message: 'It is too large' },
};
const formats = [raw, vpc, refused];

test.each([
  [{}, raw],
  [{ format: 'raw' }, raw],
  [{ format: 'vpc' }, vpc],
  [{ format: 'vpc', formatOptions: {} }, vpc],
  [{ format: 'vpc', formatOptions: { subformat: 'fixed', size: 'large' } }, vpc],
])('%j is found', (options, expected) => {
  expect(chosenFormat(formats, options)).toBe(expected);
});

describe('refused', () => {
  test.each([
    [{ format: 'vhdx' }, "There is no output format 'vhdx'; choose one of raw, vpc, huge"],
    [{ format: 'toString' }, "There is no output format 'toString'; choose one of raw, vpc, huge"],
    [{ formatOptions: { subformat: 'fixed' } }, "The output format raw has no option 'subformat'"],
    [{ formatOptions: { toString: 'x' } }, "The output format raw has no option 'toString'"],
    [{ format: 'vpc', formatOptions: { a: '1' } }, "The output format vpc has no option 'a'; it has subformat, size"],
    [
      { format: 'vpc', formatOptions: { subformat: 'dynamic' } },
      "'dynamic' is not a valid subformat of the output format vpc; it is always fixed",
    ],
    [
      { format: 'vpc', formatOptions: { subformat: 'fixed', size: 'huge' } },
      "'huge' is not a valid size of the output format vpc; choose one of small, large",
    ],
    [{ formatOptions: null as unknown as object }, "'formatOptions' must be an object"],
  ] as [Parameters<typeof chosenFormat>[1], string][])('%j', (options, message) => {
    expect(() => chosenFormat(formats, options)).toThrow(expect.objectContaining({ kind: 'usage', message }));
  });

  test('a format that the disk does not fit, after its options', () => {
    const failure = expect.objectContaining({ kind: 'limit', message: 'It is too large' });
    expect(() => chosenFormat(formats, { format: 'huge' })).toThrow(failure);
    expect(() => chosenFormat(formats, { format: 'huge', formatOptions: { a: '' } })).toThrow("no option 'a'");
  });
});
