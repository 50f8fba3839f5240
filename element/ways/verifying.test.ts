// Which results are verified by default: those that are read back in less than a tenth of the time of the conversion.

import { expect, test } from 'vitest';
import type { SaveMethod } from '../types.texts-results.js';
import { TYPICAL } from './rates.js';
import { isQuickToReadBack } from './verifying.js';

const GB = 1e9;
type Work = Parameters<typeof isQuickToReadBack>[0];

/** A raw output of a disk of 10 GB with 4 GB of data, in a file of 2 GB. */
const WORK: Work = {
  infos: [{ containers: [], fileSize: 2 * GB }],
  output: { compressed: false, outputSize: 10 * GB },
  survey: { data: 4 * GB },
  method: 'stored',
  virtualSize: 10 * GB,
  rates: TYPICAL,
  isRemote: false,
};
const inContainer = (name: string) => ({ infos: [{ containers: [{ name }], fileSize: 2 * GB }] });

test.each<[string, Partial<Work>, boolean]>([
  ['a file in the storage, which is written quickly', {}, false],
  ['a picked file, which the browser takes long to complete', { method: 'picked' }, true],
  [
    'a picked file of a fast browser',
    { method: 'picked', rates: { ...TYPICAL, picked: 4 * GB, finish: 3 * GB } },
    false,
  ],
  ['a file that is downloaded while converting', { method: 'streamed' }, false],
  ['an image of the page itself', { method: 'host' }, false],
  ['rates that are not known', { method: 'picked', rates: undefined }, false],
  ['a raw disk in bzip2', inContainer('bzip2'), true],
  ['a raw disk in xz', inContainer('xz'), true],
  ['a raw disk in gzip', inContainer('gzip'), false],
  ['a large image on a server', { isRemote: true, infos: [{ containers: [], fileSize: 8 * GB }] }, true],
  ['a small image on a server', { isRemote: true, infos: [{ containers: [], fileSize: 1 * GB }] }, false],
  [
    'a sparse output of a plain image on a server',
    { isRemote: true, output: { compressed: false }, infos: [{ containers: [], fileSize: 4 * GB }] },
    true,
  ],
  ['a compressed output, which must be decoded', { output: { compressed: true } }, false],
  ['a compressed output of bzip2', { ...inContainer('bzip2'), output: { compressed: true } }, true],
])('%s', (_, more, expected) => {
  expect(isQuickToReadBack({ ...WORK, ...more })).toBe(expected);
});

test.each<SaveMethod>(['picked', 'stored'])('%s: small differences of a measurement change nothing', (method) => {
  const proposals = [1, 1.05, 1.1, 1.2].map((factor) => {
    const rates = Object.fromEntries(Object.entries(TYPICAL).map(([name, rate]) => [name, rate * factor]));
    return isQuickToReadBack({ ...WORK, method, rates: rates as never });
  });
  expect(new Set(proposals).size).toBe(1);
});
