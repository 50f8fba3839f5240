// FILE or NAME=FILE.

import { expect, test } from 'vitest';
import { namedFile } from './operands.js';

for (const [argument, there, name, file] of [
  ['a', ['a'], undefined, 'a'],
  ['a', [], undefined, 'a'],
  ['a=b', ['b'], 'a', 'b'],
  ['a=b', [], 'a', 'b'],
  // An existing file is a file.
  ['a=b', ['a=b', 'b'], undefined, 'a=b'],
  // Divides at the first `=` that is followed by the name of an existing file.
  ['a=b=c', ['b=c', 'c'], 'a', 'b=c'],
  ['a=b=c', ['c'], 'a=b', 'c'],
  ['a=b=c', [], 'a', 'b=c'],
  ['=a', ['a'], '', 'a'],
  ['a=', [], 'a', ''],
] satisfies [string, string[], string | undefined, string][]) {
  test(`${argument}, where there is ${there.join(' and ') || 'nothing'}`, () => {
    expect(namedFile(argument, (path) => there.includes(path))).toEqual({ name, file });
  });
}

for (const [argument, name, file] of [
  ['https://host/a?b=c', undefined, 'https://host/a?b=c'],
  ['base.qcow2=https://host/a?b=c', 'base.qcow2', 'https://host/a?b=c'],
  ['ftp://me:a=b@host/a?sig=b', undefined, 'ftp://me:a=b@host/a?sig=b'],
  ['file:///a%20b', undefined, '/a b'],
  ['base.qcow2=file:///a=b', 'base.qcow2', '/a=b'],
  ['base.qcow2=s3://bucket/a?b=c', 'base.qcow2', 's3://bucket/a?b=c'],
  [import.meta.filename, undefined, import.meta.filename],
  [`a=b=${import.meta.filename}`, 'a=b', import.meta.filename],
] satisfies [string, string | undefined, string][]) {
  test(`an address or a file: ${argument.replace(import.meta.dirname, '')}`, () => {
    expect(namedFile(argument)).toEqual({ name, file });
  });
}
