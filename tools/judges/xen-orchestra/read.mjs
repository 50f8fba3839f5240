// `node read.mjs vhd FILE OUTPUT` writes the disk of a dynamic VHD to OUTPUT as vhd-lib reads it, in the checks that Xen
// Orchestra makes. `node read.mjs vmdk FILE OUTPUT` makes a VHD of a streamOptimized VMDK, as Xen Orchestra does while it imports.

import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import vhdLib from 'vhd-lib';
import vmdkToVhd from 'xo-vmdk-to-vhd';

const { default: Vhd } = vhdLib;

/** Files as vhd-lib wants them. */
const files = {
  async read(path, buffer, position) {
    const file = await open(path);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    await file.close();
    return { bytesRead, buffer };
  },
  async getSize(path) {
    const file = await open(path);
    const { size } = await file.stat();
    await file.close();
    return size;
  },
};

async function* diskOfVhd(path) {
  const vhd = new Vhd(files, path);
  await vhd.readHeaderAndFooter();
  await vhd.readBlockAllocationTable();
  const { blockSize } = vhd.header;
  let left = vhd.footer.currentSize;
  for (let id = 0; left > 0; id += 1) {
    const block = vhd.containsBlock(id) ? (await vhd._readBlock(id)).data : Buffer.alloc(blockSize);
    yield block.subarray(0, left);
    left -= blockSize;
  }
}

/** Reads from the end if `start` is negative. */
const ranges = (path, size) => async (start, end) => {
  const from = start < 0 ? size + start : start;
  const { buffer } = await files.read(path, Buffer.alloc(end - start), from);
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.length);
};

async function vhdOfVmdk(path) {
  const read = ranges(path, await files.getSize(path));
  const { grainLogicalAddressList, grainFileOffsetList } = await vmdkToVhd.readVmdkGrainTable(read);
  return await vmdkToVhd.default(createReadStream(path), grainLogicalAddressList, grainFileOffsetList);
}

const [format, path, output] = process.argv.slice(2);
const made = format === 'vhd' ? diskOfVhd(path) : await vhdOfVmdk(path);
await pipeline(made, createWriteStream(output));
