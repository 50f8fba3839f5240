// The images of `npm run bench -- sweep`: each kind grows in one property, and all else stays equal. A function returns the image,
// or a list of it and the options that hand over its other files.

import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { disk, once } from './images.mjs';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

const run = (program, ...args) => execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });

/** The first `megabytes` of the disk, from where its files are. */
const data = (megabytes) =>
  once(`growth-data-${megabytes}.raw`, (path) =>
    run('dd', `if=${disk()}`, `of=${path}`, 'bs=1M', 'skip=256', `count=${megabytes}`),
  );

/** 64 MiB of data in a disk of `gib` GiB. */
export const ofSize = (gib) =>
  once(`growth-size-${gib}.qcow2`, (path) => {
    run('qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2', data(64), path);
    run('qemu-img', 'resize', '-q', path, `${gib}G`);
  });

const CLUSTER = 65_536;
/** The clusters of data in the file, which the tables refer to again and again. */
const DISTINCT = 4096;
const ENTRIES = CLUSTER / 8;

/** Writes the fields of a qcow2 header, version 2. */
function header(size, tables) {
  const bytes = Buffer.alloc(CLUSTER);
  bytes.write('QFI\xfb', 'latin1');
  bytes.writeUInt32BE(2, 4);
  bytes.writeUInt32BE(Math.log2(CLUSTER), 20);
  bytes.writeBigUInt64BE(BigInt(size), 24);
  bytes.writeUInt32BE(tables, 36);
  bytes.writeBigUInt64BE(BigInt(CLUSTER), 40);
  return bytes;
}

/** An L1 or L2 table with `count` entries. */
function table(count, entry) {
  const bytes = Buffer.alloc(CLUSTER);
  for (let at = 0; at < count; at += 1) bytes.writeBigUInt64BE(BigInt(entry(at)), at * 8);
  return bytes;
}

/**
 * A qcow2 with `megabytes` of data. It has no refcounts, which only writers need. Its clusters refer to the same 256 MiB, so that
 * the file stays small.
 */
export const ofData = (megabytes) =>
  once(`growth-data-${megabytes}.qcow2`, (path) => {
    const size = megabytes * MIB;
    const clusters = size / CLUSTER;
    const tables = Math.ceil(clusters / ENTRIES);
    const first = (2 + tables) * CLUSTER;
    const distinct = Math.min(clusters, DISTINCT);
    const file = openSync(path, 'w');
    writeSync(file, header(size, tables));
    writeSync(
      file,
      table(tables, (at) => (2 + at) * CLUSTER),
    );
    for (let number = 0; number < tables; number += 1) {
      const count = Math.min(ENTRIES, clusters - number * ENTRIES);
      writeSync(
        file,
        table(count, (at) => first + ((number * ENTRIES + at) % distinct) * CLUSTER),
      );
    }
    closeSync(file);
    execFileSync('bash', ['-c', `head -c ${distinct * CLUSTER} "$1" >> "$2"`, 'bash', data(256), path]);
  });

/** 256 MiB of data, compressed. */
export const compressed = () =>
  once('growth-zlib.qcow2', (path) => run('qemu-img', 'convert', '-c', '-f', 'raw', '-O', 'qcow2', data(256), path));

/** The options that hand over the files in `folder` whose names match. */
const handedOver = (folder, names) =>
  readdirSync(folder)
    .filter((name) => names.test(name))
    .flatMap((name) => ['--with', join(folder, name)]);

/** A VMDK of 256 MiB of data in `count` flat extents. */
export const ofExtents = (count) => {
  const made = once(`growth-extents-${count}`, (folder) => {
    mkdirSync(folder);
    const sectors = Math.floor((256 * MIB) / 512 / count);
    const names = Array.from({ length: count }, (_, number) => `extent-${String(number).padStart(4, '0')}.raw`);
    for (const [number, name] of names.entries()) {
      const from = [`skip=${number * sectors}`, `count=${sectors}`];
      run('dd', `if=${data(256)}`, `of=${folder}/${name}`, 'bs=512', ...from, 'status=none');
    }
    const extents = names.map((name) => `RW ${sectors} FLAT "${name}" 0`);
    const lines = ['# Disk DescriptorFile', 'version=1', 'CID=fffffffe', 'parentCID=ffffffff'];
    const descriptor = [...lines, 'createType="twoGbMaxExtentFlat"', ...extents, ''];
    writeFileSync(`${folder}/disk.vmdk`, descriptor.join('\n'));
  });
  return [`${made}/disk.vmdk`, ...handedOver(made, /^extent/)];
};

/** A chain of `count` qcow2 files, each with 1 MiB of data of a disk of 1 GiB. */
export const ofLayers = (count) => {
  const folder = once(`growth-layers-${count}`, (path) => {
    mkdirSync(path);
    for (let number = 0; number < count; number += 1) {
      const backing = number === 0 ? [] : ['-b', `${number - 1}.qcow2`, '-F', 'qcow2'];
      run('qemu-img', 'create', '-q', '-f', 'qcow2', '-u', ...backing, `${path}/${number}.qcow2`, String(GIB));
      run('qemu-io', '-c', `write -q -P ${1 + (number % 255)} ${number * 8}M 1M`, `${path}/${number}.qcow2`);
    }
  });
  const top = `${count - 1}.qcow2`;
  return [join(folder, top), ...handedOver(folder, new RegExp(`^(?!${top})`))];
};
