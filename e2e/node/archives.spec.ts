// Archives with sparse members, disks in pieces, a machine's folder, and manifests. crate/tests has all permutations; here
// workers read such files.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { decant as command } from '../support/command.js';
import { diskUsage, expectSame, flush, hashFile, sparse, splitVmdk } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { ova } from '../support/ova.js';
import { serveFile } from '../support/remote.js';
import { byScope } from '../support/scope.js';

const decant = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;

/** The output of the shell script `script` in `folder`. */
const sh = (folder: string, script: string) => execFileSync('sh', ['-ec', script], { cwd: folder });

test('sparse members are read, and their holes stay holes', ({ folder }) => {
  const { raw } = sparse(64 * MIB);
  const all = [
    ['a.tar', '--format=oldgnu -Scf'],
    ['d.tar.gz', '--format=posix -Sczf'],
    ['b.tar', '--format=posix -Scf'],
    ['c.tar.gz', '--format=oldgnu -Sczf'],
  ] as const;
  // Each format, and each way of reading, once.
  for (const [name, options] of all.slice(0, byScope({ short: 2, full: 4 }))) {
    sh(folder, `tar ${options} ${name} -C '${dirname(raw)}' '${basename(raw)}'`);
    const output = join(folder, `${name}.raw`);
    expect(command('convert', join(folder, name), output), name).toMatchObject({ status: 0 });
    expectSame(output, raw);
    for (const file of [output, raw]) flush(file);
    expect(diskUsage(output), name).toBeLessThanOrEqual(diskUsage(raw) * 1.01 + 16_384);
  }
});

test('a disk in pieces, and a machine in one folder, are read out of the archive', async ({ folder }) => {
  const { descriptor, extents, disk } = splitVmdk(folder);
  const expected = join(folder, 'expected.raw');
  writeFileSync(expected, disk);
  const names = [descriptor, ...extents].map((path) => `'${basename(path)}'`).join(' ');
  sh(dirname(descriptor), `tar -cf '${folder}/vm.tar' ${names}`);
  const { image, raw } = sparse(4 * MIB);
  sh(folder, `split -b 700000 -d -a 9 '${image}' d.qcow2.; echo '<xml/>' > a.ovf; tar -cf pieces.ova a.ovf d.qcow2.0*`);
  for (const [name, wanted] of [
    ['vm.tar', expected],
    ['pieces.ova', raw],
  ] as const) {
    const output = join(folder, `${name}.raw`);
    expect(command('convert', join(folder, name), output), name).toEqual({ status: 0, stdout: '', stderr: '' });
    expectSame(output, wanted);
    // The coordinator reads a server's bytes.
    const remote = await serveFile(readFileSync(join(folder, name)));
    const opened = await decant.open(remote.url);
    await opened.convert(output);
    expectSame(output, wanted);
    await opened.close();
    await remote.close();
  }
  const map = JSON.parse(command('map', '--output=json', join(folder, 'vm.tar')).stdout) as { offset?: number }[];
  const archive = readFileSync(join(folder, 'vm.tar'));
  for (const { start, length, data, offset } of map as {
    start: number;
    length: number;
    data: boolean;
    offset?: number;
  }[])
    if (data && offset !== undefined)
      expect(archive.subarray(offset, offset + length).equals(disk.subarray(start, start + length))).toBe(true);
});

test('a manifest is checked here, and on a server where it is asked for', async ({ folder }) => {
  const { image, raw } = sparse(4 * MIB);
  const output = join(folder, 'out.raw');
  const right = ova(folder, image, hashFile(image));
  expect(command('convert', right, output)).toEqual({ status: 0, stdout: '', stderr: '' });
  expectSame(output, raw);
  const before = readFileSync(right);
  const wrong = ova(folder, image, '0'.repeat(64));
  writeFileSync(output, 'it stays');
  const refused = command('convert', wrong, output);
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('manifest') });
  expect(readFileSync(output, 'utf8')).toBe('it stays');
  const opened = await decant.open(wrong);
  await expect(opened.convert(join(folder, 'new.raw'))).rejects.toMatchObject({
    kind: 'corrupt',
    code: 'manifest-mismatch',
    fields: { file: basename(image) },
  });
  expect(existsSync(join(folder, 'new.raw'))).toBe(false);
  await opened.close();
  const remote = await serveFile(readFileSync(wrong));
  const result = async (options: Decant.OpenOptions) => {
    const image = await decant.open(remote.url, options);
    try {
      return await image.convert(output);
    } finally {
      await image.close();
    }
  };
  expect((await result({})).notices).toContainEqual(expect.objectContaining({ code: 'manifest-unchecked' }));
  await expect(result({ checkManifest: true })).rejects.toMatchObject({ code: 'manifest-mismatch' });
  await remote.close();
  const whole = await serveFile(before);
  const checked = await decant.open(whole.url, { checkManifest: true });
  expect((await checked.convert(output)).notices).toEqual([]);
  await checked.close();
  await whole.close();
});

/** Makes `disk.img`, whose first sector ends as an MBR does, and an archive by Python. */
function withDisk(folder: string, script: string): void {
  const disk =
    "import random; d = bytearray(3 << 20); d[510:512] = b'\\x55\\xaa'; d[1 << 20:2 << 20] = random.Random(1).randbytes(1 << 20); open('disk.img', 'wb').write(d)";
  execFileSync('python3', ['-c', `${disk}\nimport zipfile\n${script}`], { cwd: folder });
}

test('a raw disk among other files is found, or named', ({ folder }) => {
  writeFileSync(join(folder, 'README'), 'Write this to a card.\n');
  const zip = (method: string) => `zipfile.ZipFile('a.zip', 'w', zipfile.${method})`;
  withDisk(folder, `z = ${zip('ZIP_DEFLATED')}; z.write('README'); z.write('disk.img')`);
  sh(
    folder,
    'tar -czf a.tar.gz README disk.img; tar -cf b.tar disk.img README; tar --format=v7 -cf c.tar disk.img README',
  );
  sh(folder, 'cp README other; tar -cf texts.tar README other');
  for (const name of ['a.zip', 'a.tar.gz', 'b.tar', 'c.tar']) {
    const output = join(folder, `${name}.raw`);
    const { status, stderr } = command('convert', join(folder, name), output);
    expect({ status, stderr }, name).toEqual({ status: 0, stderr: expect.stringContaining('it is read as raw\n') });
    expectSame(output, join(folder, 'disk.img'));
  }
  const named = command('convert', '--disk', 'README', join(folder, 'a.tar.gz'), join(folder, 'readme.raw'));
  expect(named).toMatchObject({ status: 0 });
  expect(readFileSync(join(folder, 'readme.raw'), 'utf8')).toMatch(/^Write this/);
  const unknown = command('convert', join(folder, 'texts.tar'), join(folder, 'new'));
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringContaining('\ndecant: --disk 2: other (22 B)\n') });
});

test('a disk is chosen in an archive that is unpacked first, or all are converted', ({ folder }) => {
  withDisk(folder, "open('second.img', 'wb').write(d[:1 << 20])");
  const pack = "import zipfile; zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED).write('a.tar')";
  sh(folder, `tar -cf a.tar disk.img second.img; tar -czf a.tar.gz disk.img second.img; python3 -c "${pack}"`);
  sh(folder, 'echo text > README; tar -cf b.tar README a.tar.gz');
  // One of them is also in the last one.
  for (const name of byScope({ short: ['b.tar'], full: ['a.tar.gz', 'a.zip', 'b.tar'] })) {
    const [path, output] = [join(folder, name), join(folder, 'out')];
    expect(command('convert', '--disk', 'second.img', path, output), name).toMatchObject({ status: 0 });
    expectSame(output, join(folder, 'second.img'));
    expect(command('convert', '--disk', 'all', path, join(folder, 'all/')), name).toMatchObject({ status: 0 });
    const made = readdirSync(join(folder, 'all'))
      .sort()
      .map((file) => hashFile(join(folder, 'all', file)));
    expect(made, name).toEqual([hashFile(join(folder, 'disk.img')), hashFile(join(folder, 'second.img'))]);
    rmSync(join(folder, 'all'), { recursive: true });
    const wrong = command('convert', '--disk', 'third.img', path, join(folder, 'new'));
    expect(wrong, name).toMatchObject({ status: 2, stderr: expect.stringContaining("no disk 'third.img'") });
  }
  expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('a stored file in a zip archive is compared with its checksum by every worker', async ({ folder }) => {
  withDisk(folder, "z = zipfile.ZipFile('a.zip', 'w'); z.write('disk.img')");
  const path = join(folder, 'a.zip');
  const output = join(folder, 'out');
  expect(command('convert', path, output)).toMatchObject({ status: 0 });
  expectSame(output, join(folder, 'disk.img'));
  expect(command('convert', '-O', 'qcow2', path, output)).toMatchObject({ status: 0 });
  const changed = readFileSync(path);
  changed[2 * MIB - 1000]! ^= 1;
  writeFileSync(path, changed);
  for (const format of ['raw', 'qcow2']) {
    const refused = command('convert', '-O', format, path, join(folder, 'new'));
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('does not have the checksum') });
    expect(existsSync(join(folder, 'new'))).toBe(false);
  }
  // The coordinator reads a server's bytes.
  const remote = await serveFile(changed);
  const opened = await decant.open(remote.url);
  await expect(opened.convert(join(folder, 'new'))).rejects.toMatchObject({ kind: 'corrupt', code: 'zip-damaged' });
  await opened.close();
  await remote.close();
  expect(command('convert', '--salvage', path, output)).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('it is not known which'),
  });
});

test('the archive and the machine of a compressed disk are described', ({ folder }) => {
  const { image, raw } = sparse(4 * MIB);
  const ovf = `<Envelope><File id="f" href="d.qcow2.gz"/><Disk fileRef="f" capacity="99999999"/><Content id="old vm"/></Envelope>`;
  writeFileSync(join(folder, 'm.ovf'), ovf);
  sh(folder, `gzip -cn '${image}' > d.qcow2.gz; tar -cf vm.ova m.ovf d.qcow2.gz`);
  const { stdout } = command('info', join(folder, 'vm.ova'));
  expect(stdout).toContain('machine: old vm\n');
  expect(stdout).toContain("packed in: tar ('d.qcow2.gz'), gzip\n");
  const output = join(folder, 'out');
  const notice = expect.stringContaining('states 99999999 bytes for this disk');
  expect(command('convert', join(folder, 'vm.ova'), output)).toMatchObject({ status: 0, stderr: notice });
  expectSame(output, raw);
});
