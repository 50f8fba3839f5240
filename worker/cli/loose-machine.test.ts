// The files of an OVA beside each other. e2e/node/ova-disks.spec.ts compares them with those in the OVA.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LooseMachine } from './loose-machine.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'loose-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A tar header; a size of 8 GiB or more is in base 256. */
function header(name: string, size: number): Buffer {
  const header = Buffer.alloc(512);
  header.write(name);
  if (size < 2 ** 33) header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(size), 128);
  }
  return header;
}

const padded = (text: string): Buffer => Buffer.concat([Buffer.from(text), Buffer.alloc(512 - text.length)]);

const DISKS = [Buffer.alloc(1536, 1), Buffer.alloc(512, 2), Buffer.alloc(1024, 3)];

/** The writes of an OVA with these disks, as the core makes them. */
function writes(disks: Buffer[], name = 'vm'): [number, Buffer][] {
  const start = Buffer.concat([
    header(`${name}.ovf`, 5),
    padded('<xml>'),
    header(`${name}-disk1.vmdk`, disks[0]!.length),
  ]);
  const [data, headers]: [number, Buffer][][] = [[], []];
  let at = start.length;
  for (const [number, disk] of disks.entries()) {
    if (number > 0) {
      headers!.push([at, header(`${name}-disk${number + 1}.vmdk`, disk.length)]);
      at += 512;
    }
    data!.push([at, disk.subarray(0, 512)], [at + 512, disk.subarray(512)]);
    at += disk.length;
  }
  const rest = Buffer.concat([header(`${name}.mf`, 3), padded('sum'), Buffer.alloc(9000)]);
  return [...data!.filter(([, bytes]) => bytes.length > 0), [at, rest], ...headers!, [0, start]];
}

async function made(target: LooseMachine, parts: [number, Buffer][]): Promise<void> {
  await target.open();
  for (const [offset, bytes] of parts) await target.write(offset, bytes);
  await target.close();
}

const names = () => readdirSync(folder).sort();

test.each([[1], [2], [3]])('%d disks', async (count) => {
  const disks = DISKS.slice(0, count);
  await made(new LooseMachine(join(folder, 'vm.ovf')), writes(disks));
  expect(names()).toEqual([...disks.map((_, at) => `vm-disk${at + 1}.vmdk`), 'vm.mf', 'vm.ovf']);
  expect(readFileSync(join(folder, 'vm.ovf'), 'utf8')).toBe('<xml>');
  expect(readFileSync(join(folder, 'vm.mf'), 'utf8')).toBe('sum');
  for (const [at, disk] of disks.entries())
    expect(readFileSync(join(folder, `vm-disk${at + 1}.vmdk`)).equals(disk)).toBe(true);
});

test('until the end, no disk has its name', async () => {
  const target = new LooseMachine(join(folder, 'vm.ovf'));
  await target.open();
  for (const [offset, bytes] of writes(DISKS)) await target.write(offset, bytes);
  expect(names()).toHaveLength(DISKS.length);
  for (const name of names()) expect(name).toMatch(/^\.vm-disk\d\.vmdk\..*\.partial$/);
  await target.close();
  expect(names()).toHaveLength(DISKS.length + 2);
});

test('a file that another program has made meanwhile stays', async () => {
  const target = new LooseMachine(join(folder, 'vm.ovf'));
  await target.open();
  for (const [offset, bytes] of writes(DISKS)) await target.write(offset, bytes);
  writeFileSync(join(folder, 'vm-disk2.vmdk'), 'theirs');
  await expect(target.close()).rejects.toMatchObject({ code: 'file-exists' });
  await target.abort();
  expect(names()).toEqual(['vm-disk2.vmdk']);
});

test.each(['vm.ovf', 'vm.mf', 'vm-disk1.vmdk', 'vm-disk2.vmdk'])('%s that was there stays', async (name) => {
  writeFileSync(join(folder, name), 'mine');
  const target = new LooseMachine(join(folder, 'vm.ovf'));
  await expect(made(target, writes(DISKS))).rejects.toMatchObject({ kind: 'target', code: 'file-exists' });
  await target.abort();
  expect(names()).toEqual([name]);
  expect(readFileSync(join(folder, name), 'utf8')).toBe('mine');
});

test.each([
  ['another name', writes(DISKS, 'other')],
  [
    'a disk of another size',
    writes(DISKS).map(([at, bytes]) => [at, at === 4096 ? header('a', 7) : bytes] as [number, Buffer]),
  ],
  ['without its headers', writes(DISKS).slice(0, -2)],
])('an OVA that is not as expected leaves nothing: %s', async (_, parts) => {
  const target = new LooseMachine(join(folder, 'vm.ovf'));
  await expect(made(target, parts)).rejects.toThrow();
  await target.abort();
  expect(names()).toEqual([]);
});

test('a folder that is missing', async () => {
  const target = new LooseMachine(join(folder, 'no', 'vm.ovf'));
  await expect(made(target, writes(DISKS))).rejects.toMatchObject({ kind: 'target' });
  await target.abort();
});
