// Sizes in messages and in what the command prints.

import { expect, test } from 'vitest';
import { decimalSize, humanSize } from './sizes.js';

test.each([
  [0, '0 B', '0 bytes'],
  [999, '999 B', '999 bytes'],
  [1000, '0.977 KiB', '1.0 KB'],
  [65_536, '64 KiB', '65.5 KB'],
  [999_949, '977 KiB', '999.9 KB'],
  [999_950, '977 KiB', '1.0 MB'],
  [1023 * 1024 - 1, '0.999 MiB', '1.0 MB'],
  [1024 * 999.9, '1e+03 KiB', '1.0 MB'],
  [2 ** 31, '2 GiB', '2.1 GB'],
  [2 ** 60, '1 EiB', '1152921.5 TB'],
])('%d bytes', (bytes, binary, decimal) => {
  expect([humanSize(bytes), decimalSize(bytes)]).toEqual([binary, decimal]);
});
