// Checks beside the safety checks of OpenStack's format_inspector. docs/embedding.md has the differences.

import { copyFileSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { expect, test } from '../support/foreign-readers.js';
import { qemuImg } from '../support/images.js';

const SIZE = '4M';

/** Makes an image by `qemu-img create`, beside `base.qcow2`. */
function created(folder: string, name: string, format: string, ...options: string[]): string {
  const path = join(folder, name);
  qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'base.qcow2'), SIZE);
  qemuImg('create', '-q', '-f', format, ...options.flatMap((option) => ['-o', option]), path, SIZE);
  return path;
}

/** Changes bytes of the file `path` at `offset`. */
function patched(path: string, offset: number, bytes: number[]): string {
  const file = openSync(path, 'r+');
  writeSync(file, Uint8Array.from(bytes), 0, bytes.length, offset);
  return path;
}

/** Replaces a text in the file `path` by another one, and spaces. */
function replaced(path: string, text: string, by: string): string {
  const file = readFileSync(path);
  const at = file.indexOf(text);
  expect(at).toBeGreaterThan(0);
  file.write(by.padEnd(text.length), at, 'latin1');
  writeFileSync(path, file);
  return path;
}

const qcow2 = (folder: string, ...options: string[]) => created(folder, 'disk.qcow2', 'qcow2', ...options);
const vmdk = (folder: string, subformat: string) => created(folder, 'disk.vmdk', 'vmdk', `subformat=${subformat}`);

/** Offsets of the lowest bytes of the features of qcow2. */
const [INCOMPATIBLE, COMPATIBLE, AUTOCLEAR] = [79, 87, 95];

interface Row {
  make: (folder: string) => string;
  /** The format, and the checks that do not pass. */
  theirs: [string, ...string[]];
  /** The codes of errors and warnings, or of the error of `open`. */
  ours: string[];
}

const ROWS: Record<string, Row> = {
  qcow2: { make: qcow2, theirs: ['qcow2'], ours: [] },
  'qcow2, version 2': { make: (folder) => qcow2(folder, 'compat=0.10'), theirs: ['qcow2'], ours: [] },
  'qcow2 with a backing file': {
    make: (folder) => qcow2(folder, 'backing_file=base.qcow2,backing_fmt=qcow2'),
    theirs: ['qcow2', 'backing_file'],
    ours: ['missing-file'],
  },
  'qcow2 with a data file': {
    make: (folder) => qcow2(folder, `data_file=${join(folder, 'data')},data_file_raw=on`),
    theirs: ['qcow2', 'data_file'],
    ours: ['missing-file', 'truncated', 'absolute-path'],
  },
  'qcow2 with an unknown incompatible feature': {
    make: (folder) => patched(qcow2(folder), INCOMPATIBLE, [0x80]),
    theirs: ['qcow2', 'unknown_features'],
    ours: ['unknown-feature'],
  },
  'qcow2 of an unknown version': {
    make: (folder) => patched(qcow2(folder), 7, [4]),
    theirs: ['qcow2', 'unknown_features'],
    ours: ['unknown-version'],
  },
  // Only Decant warns.
  'qcow2 with an unknown compatible feature': {
    make: (folder) => patched(qcow2(folder), COMPATIBLE, [0x80]),
    theirs: ['qcow2'],
    ours: ['unknown-features'],
  },
  'qcow2 with an unknown autoclear feature': {
    make: (folder) => patched(qcow2(folder), AUTOCLEAR, [0x80]),
    theirs: ['qcow2'],
    ours: [],
  },
  // Nova and Glance do not know this feature, which QEMU has had since 5.2.
  'qcow2 with extended L2 entries': {
    make: (folder) => qcow2(folder, 'extended_l2=on'),
    theirs: ['qcow2', 'unknown_features'],
    ours: [],
  },
  // The inspector refuses all of QED.
  QED: { make: (folder) => created(folder, 'disk.qed', 'qed'), theirs: ['qed', 'banned'], ours: [] },
  VDI: { make: (folder) => created(folder, 'disk.vdi', 'vdi'), theirs: ['vdi'], ours: [] },
  VHD: { make: (folder) => created(folder, 'disk.vhd', 'vpc'), theirs: ['vhd'], ours: [] },
  // The inspector sees its disk.
  'fixed VHD': {
    make: (folder) => created(folder, 'disk.vhd', 'vpc', 'subformat=fixed'),
    theirs: ['raw'],
    ours: [],
  },
  VHDX: { make: (folder) => created(folder, 'disk.vhdx', 'vhdx'), theirs: ['vhdx'], ours: [] },
  'sparse VMDK': { make: (folder) => vmdk(folder, 'monolithicSparse'), theirs: ['vmdk'], ours: [] },
  'streamOptimized VMDK': { make: (folder) => vmdk(folder, 'streamOptimized'), theirs: ['vmdk'], ours: [] },
  'flat VMDK': {
    make: (folder) => vmdk(folder, 'monolithicFlat'),
    theirs: ['vmdk', 'descriptor'],
    ours: ['missing-file'],
  },
  // The names of extents in a sparse file refer to itself, so Decant opens none of them.
  'sparse VMDK that names another file': {
    make: (folder) => replaced(vmdk(folder, 'monolithicSparse'), '"disk.vmdk"', '"/etc/pwd"'),
    theirs: ['vmdk', 'descriptor'],
    ours: [],
  },
};

/** The codes of what is worse than a note, or of the error of `open`. */
async function codes(path: string): Promise<string[]> {
  try {
    const image = await decant.open(path);
    const { findings, accept } = await image.check({ deep: true });
    await image.close();
    const found = findings.filter(({ severity }) => severity !== 'note');
    expect(accept).toBe(found.every(({ severity }) => severity !== 'error'));
    return found.map(({ code }) => code);
  } catch (thrown) {
    if (!decant.DecantError.is(thrown)) throw thrown;
    return [thrown.code];
  }
}

for (const [name, { make, theirs, ours }] of Object.entries(ROWS)) {
  test(`the check of ${name}`, async ({ folder, readers }) => {
    const path = make(folder);
    // Without the files beside it.
    const alone = join(folder, 'alone');
    copyFileSync(path, alone);
    const { format, failures } = await readers({ image: alone });
    expect({ theirs: [format, ...Object.keys(failures).sort()], ours: await codes(alone) }).toEqual({ theirs, ours });
  });
}
