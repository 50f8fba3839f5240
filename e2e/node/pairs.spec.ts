// The generated matrix in Node: every source, format, writer and target, in one process; standard output by the command.
// Registered formats and writers are included automatically.

import { closeSync, openAsBlob, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { cli, run } from '../support/command.js';
import { makeDevice } from '../support/device.js';
import { images, pair, pairsOf } from '../support/images.js';
import { expect, test } from '../support/node.js';
import * as pairs from '../support/pairs.mjs';
import { byScope, scope } from '../support/scope.js';

const SOURCES: Record<string, (path: string) => decant.Input> = {
  path: (path) => path,
  ...Object.fromEntries(
    Object.entries(pairs.SOURCES).map(([name, source]) => [
      name,
      (path: string) => source(new Blob([readFileSync(path)])),
    ]),
  ),
};

const DEVICE_SIZE = 16 << 20;

/** The first `size` bytes of a device. */
function contentOf(device: string, size: number): Blob {
  const bytes = Buffer.alloc(size);
  const file = openSync(device, 'r');
  readSync(file, bytes);
  closeSync(file);
  return new Blob([bytes]);
}

/** All targets, by name. Node refuses those of browsers. */
const targetsIn = (folder: string, device: string): Record<string, () => pairs.Place> => {
  const path = join(folder, 'out');
  const unmade = async () => undefined;
  return {
    path: () => ({ output: path, made: () => openAsBlob(path) }),
    device: () => {
      // The device is not zero, so that an unwritten hole shows.
      writeFileSync(device, Buffer.alloc(DEVICE_SIZE / 2, 0xee));
      return { output: device, made: async (size) => contentOf(device, size) };
    },
    ...pairs.TARGETS,
    storage: () => ({ output: { opfs: 'out' }, made: unmade }),
    folder: () => ({ output: { folder: {} as FileSystemDirectoryHandle, name: 'out' }, made: unmade }),
    download: () => ({ output: { download: 'out' }, made: unmade }),
  };
};

/** Options of the command that a format takes. */
const OPTIONS: Record<string, string[]> = {
  qcow2: ['-c', '--two-pass'],
  'vpc, dynamic': ['-o', 'subformat=dynamic'],
  'vhdx, fixed': ['-o', 'subformat=fixed'],
  'vdi, fixed': ['-o', 'static=on'],
  ova: ['--two-pass'],
};

/** Converts the row to standard output by the command. Returns the fault, or undefined. */
async function command({ format, writer }: pairs.Row, folder: string): Promise<string | undefined> {
  const path = join(folder, 'stdout');
  const file = openSync(path, 'w');
  const said = format === 'raw' ? ['-f', format] : [];
  if (pairs.LOCKED.includes(format)) {
    const secret = join(folder, 'secret');
    writeFileSync(secret, pairs.PASSWORD);
    said.push('--password-file', secret);
  }
  const name = pairs.FORMS[writer]?.format ?? writer;
  const args = [cli, 'convert', '-q', ...said, '-O', name, ...(OPTIONS[writer] ?? []), pair(format), '-'];
  const { status, stderr } = run(process.execPath, args, { stdio: ['ignore', file, 'pipe'] });
  closeSync(file);
  return status === 0 && stderr === ''
    ? pairs.complaint(decant, writer, await openAsBlob(path))
    : `${status}: ${stderr}`;
}

/** The names of all input formats and of all output formats. */
async function registered(): Promise<{ format: string[]; writer: string[] }> {
  const image = await decant.open(images.kinds());
  const writer = [...image.formats.map(({ name }) => name), ...Object.keys(pairs.FORMS)];
  await image.close();
  const unknown = await decant.open(images.kinds(), { inputFormat: '?' }).catch(({ message }: Error) => message);
  return { format: pairsOf(String(unknown).split('choose one of ')[1]!.split(', ')), writer };
}

test('every pair makes the disk, or is refused with its sentence', async ({ folder }) => {
  test.setTimeout(30 * 60_000);
  const device = makeDevice(folder, DEVICE_SIZE, DEVICE_SIZE + (1 << 20));
  try {
    const targets = targetsIn(folder, device.path);
    const members = {
      source: Object.keys(SOURCES),
      ...(await registered()),
      target: [...Object.keys(targets), 'stdout'],
    };
    // Standard output is the command's, which reads paths.
    const rows = pairs.rowsOf(members, scope).filter(({ source, target }) => target !== 'stdout' || source === 'path');
    const wrong: string[] = [];
    for (const row of rows) {
      const told =
        row.target === 'stdout'
          ? await command(row, folder)
          : await pairs.convert(decant, row, SOURCES[row.source]!(pair(row.format)), targets[row.target]!(), {
              workers: 2,
            });
      const says = pairs.refusal(pairs.REFUSED_IN_NODE, row);
      const isRight = says === undefined ? told === undefined : told?.includes(says);
      if (!isRight) wrong.push(`${Object.values(row).join(', ')}: ${told}`);
    }
    console.log(`${rows.length} rows of ${JSON.stringify(members)}`);
    expect(wrong).toEqual([]);
    const roles = ['source', 'format', 'writer', 'target'] as const;
    const missing = roles.flatMap((role) => members[role].filter((name) => !rows.some((row) => row[role] === name)));
    expect(missing).toEqual([]);
    expect(rows.length).toBeGreaterThan(byScope({ short: 30, full: 60 }));
  } finally {
    device.remove();
  }
});
