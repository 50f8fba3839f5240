// The generated matrix of the crate's tests (crate/tests/generated.rs), once more through the command:
// the wasm that ships, and what info and map print.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cli, startProgram } from '../support/command.js';
import { hashFile } from '../support/images.js';
import { expect, test } from '../support/node.js';

const list = fileURLToPath(new URL('../../target/matrix/rows.json', import.meta.url));
const SECRET = ['--object', 'secret,id=s,data=correct horse'];

interface Row {
  name: string;
  image: string;
  raw: boolean;
  companions: string[];
  snapshot: string | null;
  encrypted: boolean;
  /** How qemu opens the chain. */
  qemu: string;
  sha256: string;
}

/** Runs the command to its end, beside others. */
const decant = (...args: string[]) => startProgram(process.execPath, [cli, ...args]).ended;

const qemuImg = (...args: string[]) => execFileSync('qemu-img', args, { encoding: 'utf8', maxBuffer: 1 << 28 });

/** How many rows are converted at once: what starts a process waits for one core. */
const LANES = 2;

test('every row converts to what was written', async ({ folder }) => {
  test.setTimeout(20 * 60_000);
  const rows: Row[] = JSON.parse(readFileSync(list, 'utf8'));
  expect(rows.length, 'cargo test makes the matrix').toBeGreaterThan(60);
  const password = join(folder, 'password');
  writeFileSync(password, 'correct horse\n');
  const wrong: string[] = [];
  let [maps, infos] = [0, 0];

  async function check(row: Row, output: string): Promise<void> {
    const opening = [
      ...row.companions.flatMap((path) => ['--with', path]),
      ...(row.raw ? ['-f', 'raw'] : []),
      ...(row.encrypted ? ['--password-file', password, '--assume-password'] : []),
      ...(row.snapshot ? ['--snapshot', row.snapshot] : []),
    ];
    const { status, stderr } = await decant('convert', ...opening, row.image, output);
    if (status !== 0 || stderr !== '') wrong.push(`${row.name}: ${status} ${stderr}`);
    else if (hashFile(output) !== row.sha256) wrong.push(`${row.name}: other bytes`);
    rmSync(output, { force: true });
    if (row.snapshot) return;
    // A raw file has holes that only its file system knows.
    if (!/raw/i.test(row.name.replaceAll('raw: false', ''))) {
      maps += 1;
      const theirs = qemuImg('map', ...SECRET, '--image-opts', '--output=json', row.qemu);
      const ours = await decant('map', ...opening, '--output=json', row.image);
      if (ours.stdout !== theirs) wrong.push(`${row.name}: map`);
    }
    if (row.raw) return;
    infos += 1;
    const { decant: _ours, ...info } = JSON.parse((await decant('info', '--output=json', row.image)).stdout);
    expect(info, row.name).toEqual(JSON.parse(qemuImg('info', '--output=json', row.image)));
  }

  const waiting = rows.values();
  const lane = async (output: string) => {
    for (const row of waiting) await check(row, output);
  };
  await Promise.all(Array.from({ length: LANES }, (_, at) => lane(join(folder, `out-${at}.raw`))));
  expect(wrong).toEqual([]);
  console.log(`${rows.length} conversions, ${maps} maps, ${infos} infos`);
});
