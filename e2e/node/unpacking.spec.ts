// Images that must be unpacked to a temporary file first: the right disk, and nothing left at any end.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Decant from '../../dist/node.js';
import { asRoot, cli, decant, run, start } from '../support/command.js';
import { cachedFolder, hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const api = (await import(fileURLToPath(new URL('../../dist/node.js', import.meta.url)))) as typeof Decant;
test.afterAll(() => api.dispose());

const MIB = 1 << 20;

/** Runs a script with `decant` in `folder`. */
function shell(folder: string, script: string, env: NodeJS.ProcessEnv = {}) {
  const command = `decant() { '${process.execPath}' '${cli}' "$@"; }; ${script}`;
  return run('bash', ['-o', 'pipefail', '-c', command], { cwd: folder, env: { ...process.env, ...env } });
}

/** Writes the output of `pack` to the file `name`. */
function packed(folder: string, name: string, pack: string): string {
  execFileSync('bash', ['-o', 'pipefail', '-c', `${pack} > '${name}'`], { cwd: folder });
  return join(folder, name);
}

/** The image, followed by more zeros than are decoded in memory. */
const longer = (path: string) => `{ cat '${path}'; head -c ${65 * MIB} /dev/zero; }`;

/** An archive of the files, as a Vagrant box begins. */
const boxOf = (path: string) =>
  `{ echo '{"provider": "libvirt"}' > metadata.json; tar -cf - metadata.json -C '${dirname(path)}' '${basename(path)}'; }`;

for (const [name, pack, format, details] of [
  ['a.qcow2.gz', () => `${longer(images.zlib())} | gzip -1c`, 'qcow2', {}],
  ['a.qcow2.xz', () => `${longer(images.plain())} | xz -0c`, 'qcow2', FULL],
  ['a.qcow2.zst', () => `${longer(images.plain())} | zstd -qc`, 'qcow2', FULL],
  ['a.qcow2.bz2', () => `${longer(images.zlib())} | bzip2 -1c`, 'qcow2', FULL],
  ['a.qcow2.lz4', () => `${longer(images.zlib())} | lz4 -qc`, 'qcow2', FULL],
  ['a.qcow2.gz.xz', () => `${longer(images.zlib())} | gzip -1c | xz -0c`, 'qcow2', FULL],
  ['a.box', () => `{ ${boxOf(images.zlib())}; head -c ${65 * MIB} /dev/zero; } | gzip -1c`, 'tar', FULL],
  ['a.tar.xz', () => `{ ${boxOf(images.zlib())}; head -c ${65 * MIB} /dev/zero; } | xz -0c`, 'tar', FULL],
] as const) {
  test(`${name} is unpacked and converted, and info names what is inside`, details, ({ folder }) => {
    const file = packed(folder, name, pack());
    const before = readdirSync(folder).sort();
    expect(decant('info', file)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`file format: ${format}\n`),
    });
    const { status, stderr } = decant('convert', file, join(folder, 'out'));
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `decant: note: unpacking '${file}' to a temporary file in '${folder}'\n`,
    });
    expect(hashFile(join(folder, 'out'))).toBe(hashFile(images.raw()));
    expect(readdirSync(folder).sort()).toEqual([...before, 'out'].sort());
    expect(decant('convert', '-q', file, join(folder, 'out'))).toEqual({ status: 0, stdout: '', stderr: '' });
  });
}

for (const [script, details] of [
  ['cat image | decant convert - out && cmp out disk', {}],
  ['gzip -1c image | decant convert - - | cmp - disk', {}],
  ['cat image | decant convert -f qcow2 - out && cmp out disk', FULL],
  ['gzip -1c image > a && decant convert -c -O qcow2 --spool=spool a - | cat > out && qemu-img compare out disk', FULL],
  ['gzip -1c image > a && decant convert --spool=spool a out && cmp out disk', FULL],
  ['gzip -1c image > a && decant map --output=json a | grep -c \'"data": true\'', {}],
  ['gzip -1c image > a && TMPDIR=none decant map --spool=spool --output=json a | grep -c \'"data": true\'', FULL],
  ['tar -cf two.tar image second && gzip -1 two.tar && decant convert --disk 2 two.tar.gz out && cmp out other', {}],
  [
    'tar -cf two.tar image second && gzip -1 two.tar && decant convert two.tar.gz all/ && cmp all/two-disk2.raw other',
    FULL,
  ],
  ['tar -cf two.tar image second && gzip -1 two.tar && ! decant convert two.tar.gz out', FULL],
  [
    'qemu-img convert -O vmdk -o subformat=twoGbMaxExtentFlat image d.vmdk && zip -q a.zip d*.vmdk && decant convert a.zip out && cmp out disk',
    {},
  ],
  [
    'qemu-img convert -O vmdk -o subformat=twoGbMaxExtentFlat image d.vmdk && zip -q a.zip d*.vmdk && decant convert a.zip - | cmp - disk',
    FULL,
  ],
  [
    'qemu-img convert -O vmdk -o subformat=twoGbMaxExtentFlat image d.vmdk && zip -q a.zip d*.vmdk && decant map --output=json a.zip | grep -c \'"data": true\'',
    FULL,
  ],
  [
    "qemu-img convert -O vmdk -o subformat=twoGbMaxExtentSparse image d.vmdk && zip -q a.zip d*.vmdk && decant info a.zip | grep -A 1 'format: vmdk' | grep -F \"zip ('d.vmdk')\"",
    {},
  ],
  ['(cat image; head -c 65M /dev/zero) | gzip -1 > a && decant info --output=json a | grep \'"packed": true\'', FULL],
] as const) {
  test(`the command unpacks: ${script}`, details, ({ folder }) => {
    const spool = join(folder, 'spool');
    mkdirSync(spool);
    qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'image'), `${8 * MIB}`);
    run('qemu-io', ['-c', 'write -P 7 1M 3M', join(folder, 'image')]);
    run('qemu-img', ['convert', '-O', 'raw', 'image', 'disk'], { cwd: folder });
    qemuImg('create', '-q', '-f', 'qcow2', join(folder, 'second'), `${2 * MIB}`);
    run('qemu-img', ['convert', '-O', 'raw', 'second', 'other'], { cwd: folder });
    expect(shell(folder, script, { TMPDIR: spool })).toMatchObject({ status: 0 });
    expect(readdirSync(spool)).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });
}

/** A folder with the image, and with packed files of it. */
const packedImages = () =>
  cachedFolder('packed', (folder) => {
    copyFileSync(images.zlib(), join(folder, 'image'));
    shell(
      folder,
      `(cat image; head -c 65M /dev/zero) | gzip -1c > a.gz; split -a 3 --numeric-suffixes=1 -n 2 a.gz cut.gz.
       cp image other; tar -czf two.tar.gz image other; rm other`,
    );
  });

// (arguments, the sentence): the arguments alone are wrong.
for (const [script, sentence, details] of [
  ['decant convert -c -O qcow2 a.gz - | cat', 'allow two passes over the image', {}],
  ['cat a.gz | decant convert -c -O qcow2 - - | cat', 'allow two passes over the image', FULL],
  ['cat image | decant convert -f qcow2 -c -O qcow2 - - | cat', 'allow two passes over the image', FULL],
  ['decant convert -c -O raw a.gz out', '-c needs a compressed output format', FULL],
  ['decant convert -O none a.gz out', "'none'", FULL],
  ['decant convert -o none=1 a.gz out', "'none'", FULL],
  ['decant convert a.gz ./a.gz', "'./a.gz' is 'a.gz', an input of the command", {}],
  ['decant convert --with image a.gz image', "'image' is 'image', an input of the command", FULL],
  ['decant convert cut.gz.001 cut.gz.002', 'an input of the command', FULL],
  ['decant convert a.gz none/out', "Could not write 'none/out': there is no such file or folder", {}],
  ['cat a.gz | decant convert - none/out', 'no such file or folder', FULL],
  ['decant convert --spool=. a.gz none/out', 'no such file or folder', FULL],
  ['decant convert two.tar.gz image/all/', "Could not write to 'image/all/': a part of the path is not a folder", {}],
  ['decant convert --disk 2 two.tar.gz all/', "'all/' is a folder; choose a file", FULL],
  ['decant convert a.gz all/', "'all/' is a folder; choose a file", {}],
  ['decant convert -n a.gz none', "'none' does not exist", FULL],
] as const) {
  test(`refused before it is unpacked: ${script}`, details, ({ folder }) => {
    shell(folder, `cp -r '${packedImages()}/.' .`);
    const before = readdirSync(folder);
    const { stderr } = shell(folder, script, { TMPDIR: folder });
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringContaining(sentence)]);
    expect(readdirSync(folder)).toEqual(before);
    expect(hashFile(join(folder, 'image'))).toBe(hashFile(images.zlib()));
  });
}

/** Opens a gzip file of `images.zlib()` with `options`, and runs `work`. */
async function withPacked<T>(
  folder: string,
  options: Decant.OpenOptions,
  work: (image: Decant.AnyImage) => Promise<T>,
): Promise<T> {
  copyFileSync(join(packedImages(), 'a.gz'), join(folder, 'a.gz'));
  const image = await api.open(join(folder, 'a.gz'), options);
  try {
    return await work(image);
  } finally {
    await image.close();
  }
}

test('the package refuses without a folder, and reads at any position with one', async ({ folder }) => {
  const spool = join(folder, 'spool');
  mkdirSync(spool);
  await expect(withPacked(folder, {}, async () => {})).rejects.toMatchObject({
    kind: 'unsupported',
    code: 'needs-spool',
    fields: { format: 'qcow2', container: 'gzip' },
  });
  const progress: Decant.Progress[] = [];
  const options = { spool, onProgress: (one: Decant.Progress) => progress.push(one) };
  await withPacked(folder, options, async (image) => {
    if (image.streamed) throw new Error('it is read in order');
    expect(image.info).toMatchObject({ format: 'qcow2', containers: [{ name: 'gzip' }], name: join(folder, 'a.gz') });
    expect(readdirSync(spool)).toHaveLength(1);
    const plain = await api.open(images.zlib());
    if (plain.streamed) throw new Error('it is read in order');
    for (const [offset, length] of [
      [0, 512],
      [7 * MIB + 3, MIB],
      [512, 5],
    ] as const)
      expect(Buffer.compare(await image.read(offset, length), await plain.read(offset, length))).toBe(0);
    await plain.close();
  });
  expect(progress.map(({ phase }) => phase)).toContain('unpacking');
  expect(progress.at(-1)!.bytesRead).toBeGreaterThan(MIB);
  expect(readdirSync(spool)).toEqual([]);
});

test('a chosen disk that is an archive of several is refused, packed or not', { tag: '@full' }, async ({ folder }) => {
  for (const name of ['a', 'b', 'c']) copyFileSync(images.zlib(), join(folder, `${name}.qcow2`));
  const inner = 'tar -cf inner.tar b.qcow2 c.qcow2; tar -cf one.tar b.qcow2';
  for (const [outer, pack] of [
    ['outer.tar', 'tar -cf - inner.tar a.qcow2'],
    ['outer.zip', 'zip -q - inner.tar a.qcow2'],
    ['packed.tar', 'xz -0 inner.tar; tar -cf - inner.tar.xz a.qcow2'],
    ['one.tar', 'xz -0 one.tar; tar -cf - one.tar.xz a.qcow2'],
  ] as const) {
    execFileSync('bash', ['-c', inner], { cwd: folder });
    const file = packed(folder, outer, pack);
    const open = (disk: number) => api.open(file, { disk, spool: folder });
    if (outer === 'one.tar') {
      const image = await open(1);
      expect(image.info.containers.at(-1)).toMatchObject({ name: 'tar', member: 'b.qcow2' });
      await image.close();
    } else {
      const refused = { kind: 'unsupported', code: 'several-images', fields: { count: 2 } };
      await expect(open(1), outer).rejects.toMatchObject(refused);
    }
    const image = await open(2);
    expect(image.info.containers.at(-1), outer).toMatchObject({ member: 'a.qcow2' });
    await image.close();
    rmSync(file);
  }
});

test('damage, a cancel and a thrown error leave nothing', async ({ folder }) => {
  const spool = join(folder, 'spool');
  mkdirSync(spool);
  const file = packed(folder, 'cut.gz', `gzip -1c '${images.plain()}'`);
  truncateSync(file, 1_000_000);
  await expect(api.open(file, { spool })).rejects.toMatchObject({ kind: 'corrupt' });
  expect(readdirSync(spool)).toEqual([]);
  const abort = new AbortController();
  const cancelled = withPacked(
    folder,
    { spool, signal: abort.signal, onProgress: () => abort.abort() },
    async () => {},
  );
  await expect(cancelled).rejects.toMatchObject({ kind: 'cancelled', message: 'Opening the image was cancelled' });
  expect(readdirSync(spool)).toEqual([]);
  const throws = () => {
    throw new Error('no');
  };
  await expect(withPacked(folder, { spool, onProgress: throws }, async () => {})).rejects.toMatchObject({
    kind: 'usage',
  });
  expect(readdirSync(spool)).toEqual([]);
});

test('an image of another kind than its name says leaves nothing', async ({ folder }) => {
  const spool = join(folder, 'spool');
  mkdirSync(spool);
  // It begins as a qcow2, and its tables are missing.
  writeFileSync(join(folder, 'head'), execFileSync('head', ['-c', '70000', images.plain()]));
  const file = packed(folder, 'head.gz', 'gzip -1c head');
  const opened = api.open(file, { spool });
  await expect(opened.then((image) => image.convert(join(folder, 'out')))).rejects.toMatchObject({ kind: 'corrupt' });
  await (await opened).close();
  expect(readdirSync(spool)).toEqual([]);
});

test('a killed process leaves a file that the next one removes', FULL, async ({ folder }) => {
  const file = packed(folder, 'a.xz', `${longer(images.plain())} | xz -0c`);
  const { child, ended } = start('convert', '-p', file, join(folder, 'out'));
  await expect.poll(() => readdirSync(folder).some((name) => name.startsWith('.decant-spool'))).toBe(true);
  child.kill('SIGKILL');
  await ended;
  expect(readdirSync(folder).filter((name) => name.startsWith('.decant-spool'))).toHaveLength(1);
  expect(decant('convert', file, join(folder, 'out'))).toMatchObject({ status: 0 });
  expect(readdirSync(folder).sort()).toEqual(['a.xz', 'out']);
});

test('a full disk ends the unpacking with the place and what to do', FULL, ({ folder }) => {
  const file = packed(folder, 'a.xz', `xz -0c '${images.plain()}'`);
  const small = join(folder, 'small');
  mkdirSync(small);
  asRoot('mount', '-t', 'tmpfs', '-o', 'size=1m,mode=777', 'tmpfs', small);
  try {
    const { status, stderr } = decant('convert', `--spool=${small}`, file, join(folder, 'out'));
    expect(status).toBe(1);
    expect(stderr).toContain(`The temporary file has no room in '${small}': `);
    expect(stderr).toContain('or unpack the image yourself\n');
    expect(readdirSync(small)).toEqual([]);
  } finally {
    asRoot('umount', small);
  }
  expect(readdirSync(folder).sort()).toEqual(['a.xz', 'small']);
});
