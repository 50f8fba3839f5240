// Reports of a salvage with very many losses.

import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as decant from '../../dist/node.js';
import { closing } from '../support/closing.js';
import { expect, test } from '../support/node.js';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const CLUSTER = 512;
const ENTRIES = CLUSTER / 8;

/** An image with clusters of 512 bytes, every second one of which, `lost` in all, is after the end of the file. */
function damaged(lost: number): Buffer {
  const tables = Math.ceil((2 * lost) / ENTRIES);
  const l2 = CLUSTER + Math.ceil((tables * 8) / CLUSTER) * CLUSTER;
  const image = Buffer.alloc(l2 + tables * CLUSTER);
  image.write('QFI\u00fb\0\0\0\u0003', 'latin1');
  image.writeUInt32BE(9, 20);
  image.writeBigUInt64BE(BigInt(2 * lost * CLUSTER), 24);
  image.writeUInt32BE(tables, 36);
  image.writeBigUInt64BE(BigInt(CLUSTER), 40);
  image.writeUInt32BE(4, 96);
  image.writeUInt32BE(104, 100);
  for (let at = 0; at < tables; at += 1) image.writeBigUInt64BE(BigInt(l2 + at * CLUSTER), CLUSTER + at * 8);
  for (let at = 0; at < lost; at += 1) image.writeBigUInt64BE((1n << 62n) | (1n << 40n), l2 + at * 16);
  return image;
}

for (const [lost, more, tag] of [
  [10_000, '', ['@full']],
  [10_001, 'decant: lost: 1 more range, not listed\n', []],
  [200_000, 'decant: lost: 190000 more ranges, not listed\n', ['@full']],
  [1_000_000, 'decant: lost: 990000 more ranges, not listed\n', ['@long']],
] as const) {
  test(`of ${lost} lost ranges the first 10,000 are listed, and all are counted`, { tag: [...tag] }, ({ folder }) => {
    const [image, output] = [join(folder, 'image.qcow2'), join(folder, 'out.raw')];
    writeFileSync(image, damaged(lost));
    const decant = (...args: string[]) =>
      spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8', maxBuffer: 1 << 30 });
    const { status, stderr } = decant('convert', '--salvage', image, output);
    expect(status).toBe(3);
    const lines = stderr.split('\n');
    expect(lines.slice(0, 2)).toEqual(
      [0, 2 * CLUSTER].map((at) => expect.stringContaining(`${CLUSTER} bytes at ${at}:`)),
    );
    expect(lines.filter((line) => line.includes(' bytes at '))).toHaveLength(10_000);
    expect(
      stderr.endsWith(
        `${more}decant: '${output}' is damaged: ${lost * CLUSTER} bytes of the disk were lost or may be wrong\n`,
      ),
    ).toBe(true);
    expect(statSync(output).size).toBe(2 * lost * CLUSTER);
    const map = decant('map', '--output=json', '--salvage', image);
    expect(map.status).toBe(3);
    expect(map.stderr.split('\n').filter((line) => line.includes(' bytes at '))).toHaveLength(10_000);
    expect(map.stderr.endsWith(`\n${more}`)).toBe(true);
  });
}

test('programs see by codes why ranges are lost', async ({ folder }) => {
  const image = join(folder, 'image.qcow2');
  writeFileSync(image, damaged(2));
  const [code, message] = ['qcow2-compressed-truncated', 'the file ends before a compressed cluster'];
  const lost = [0, 2].map((at) => ({ offset: at * CLUSTER, length: CLUSTER, code, message }));
  await closing(await decant.open(image, { salvage: true }), async (opened) => {
    const mapped = [];
    for await (const extent of opened.map()) if (extent.kind === 'lost') mapped.push(extent);
    expect(mapped).toMatchObject(lost);
    expect((await opened.convert(join(folder, 'out.raw'))).lost).toEqual(lost);
  });
});
