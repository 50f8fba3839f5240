// The generated matrix of the crate's tests (crate/tests/generated.rs), once more through the command:
// the wasm that ships, and what info and map print.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashFile } from '../support/images.js';
import { expect, test } from '../support/node.js';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
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

function decant(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8', timeout: 60_000, maxBuffer: 1 << 28 });
}

const qemuImg = (...args: string[]) => execFileSync('qemu-img', args, { encoding: 'utf8', maxBuffer: 1 << 28 });

test('every row converts to what was written', ({ folder }) => {
  test.setTimeout(20 * 60_000);
  const rows: Row[] = JSON.parse(readFileSync(list, 'utf8'));
  expect(rows.length, 'cargo test makes the matrix').toBeGreaterThan(60);
  const [output, password] = [join(folder, 'out.raw'), join(folder, 'password')];
  writeFileSync(password, 'correct horse\n');
  const wrong: string[] = [];
  let [maps, infos] = [0, 0];
  for (const row of rows) {
    const opening = [
      ...row.companions.flatMap((path) => ['--with', path]),
      ...(row.raw ? ['-f', 'raw'] : []),
      ...(row.encrypted ? ['--password-file', password, '--assume-password'] : []),
      ...(row.snapshot ? ['--snapshot', row.snapshot] : []),
    ];
    const { status, stderr } = decant('convert', ...opening, row.image, output);
    if (status !== 0 || stderr !== '') wrong.push(`${row.name}: ${status} ${stderr}`);
    else if (hashFile(output) !== row.sha256) wrong.push(`${row.name}: other bytes`);
    rmSync(output, { force: true });
    if (row.snapshot) continue;
    // A raw file has holes that only its file system knows.
    if (!/raw/i.test(row.name.replaceAll('raw: false', ''))) {
      maps += 1;
      const theirs = qemuImg('map', ...SECRET, '--image-opts', '--output=json', row.qemu);
      if (decant('map', ...opening, '--output=json', row.image).stdout !== theirs) wrong.push(`${row.name}: map`);
    }
    if (row.raw) continue;
    infos += 1;
    const { decant: _ours, ...info } = JSON.parse(decant('info', '--output=json', row.image).stdout);
    expect(info, row.name).toEqual(JSON.parse(qemuImg('info', '--output=json', row.image)));
  }
  expect(wrong).toEqual([]);
  console.log(`${rows.length} conversions, ${maps} maps, ${infos} infos`);
});
