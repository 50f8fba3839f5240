// Outputs that are made in a temporary file and then sent: the bytes of a file, and nothing left at any end.

import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type * as Decant from '../../dist/node.js';
import type * as Upload from '../../dist/upload.js';
import { closing } from '../support/closing.js';
import { asRoot, cli, run, start, startProgram } from '../support/command.js';
import { withFaults } from '../support/faults.js';
import { heldDisk, serveDisk } from '../support/held.js';
import { hashFile, images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { takeUploads } from '../support/uploads.js';

const dist = (name: string) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url));
const decant = (await import(dist('node'))) as typeof Decant;
const upload = (await import(dist('upload'))) as typeof Upload;
test.afterAll(() => decant.dispose());

const MIB = 1 << 20;
/** For polls: longer than any step on a busy machine. */
const PATIENTLY = { timeout: 60_000 };
const COMPRESSED = { format: 'qcow2', formatOptions: { compress: 'on' } };

/** A folder for the temporary file, in that of a test. */
function spoolIn(folder: string): string {
  const spool = join(folder, 'spool');
  mkdirSync(spool);
  return spool;
}

async function convert(
  path: string,
  target: Decant.Output,
  options: Decant.ConvertOptions,
  opening: Decant.OpenOptions = {},
): Promise<Decant.ConvertResult> {
  const image = await decant.open(path, opening);
  try {
    return await image.convert(target, options);
  } finally {
    await image.close();
  }
}

/** The bytes of the compressed qcow2 that a conversion to a file makes. */
async function expectedIn(folder: string, path = images.plain()): Promise<Buffer> {
  const file = join(folder, 'expected.qcow2');
  await convert(path, file, COMPRESSED);
  qemuImg('check', '-f', 'qcow2', file);
  return readFileSync(file);
}

/** An ascending target that keeps what it gets, with `changes`. */
function keeping(changes: Partial<Decant.Target> = {}) {
  const [pieces, calls]: [Uint8Array[], string[]] = [[], []];
  let plan: Decant.TargetPlan | undefined;
  const target: Decant.Target = {
    ascending: true,
    async open(given) {
      calls.push('open');
      plan = given;
    },
    async write(offset, bytes) {
      expect(offset).toBe(pieces.reduce((sum, { length }) => sum + length, 0));
      pieces.push(bytes);
    },
    async close() {
      calls.push('close');
    },
    async abort({ kind }: Decant.DecantError) {
      calls.push(`abort: ${kind}`);
    },
    ...changes,
  } as Decant.Target;
  return { target, calls, bytes: () => Buffer.concat(pieces), plan: () => plan };
}

for (const [args, details] of [
  [['-c', '-O', 'qcow2'], {}],
  [['-O', 'qcow2'], FULL],
  [['-O', 'raw'], FULL],
  [['-O', 'raw', '-S', '0'], FULL],
  [['-O', 'raw.gz'], FULL],
] as [string[], object][]) {
  test(`standard output gets the bytes of a file: ${args.join(' ')}`, details, ({ folder }) => {
    const [file, pipe, spool] = [join(folder, 'file'), join(folder, 'pipe'), spoolIn(folder)];
    run(process.execPath, [cli, 'convert', ...args, images.plain(), file]);
    const script = `'${process.execPath}' '${cli}' convert ${args.join(' ')} --spool=spool '${images.plain()}' - | cat > pipe`;
    expect(run('bash', ['-o', 'pipefail', '-c', script], { cwd: folder })).toMatchObject({ status: 0, stderr: '' });
    expect(hashFile(pipe)).toBe(hashFile(file));
    if (args.includes('qcow2')) qemuImg('check', '-f', 'qcow2', pipe);
    expect(readdirSync(spool)).toEqual([]);
  });
}

test('the folder is TMPDIR without another one', ({ folder }) => {
  const spool = spoolIn(folder);
  const script = `'${process.execPath}' '${cli}' convert -c -O qcow2 --spool '${images.kinds()}' - > out && ls -A spool`;
  const env = { ...process.env, TMPDIR: join(folder, 'none') };
  const failed = run('bash', ['-c', script], { cwd: folder, env });
  expect(failed).toMatchObject({
    status: 1,
    stderr: `decant: Could not write a temporary file in '${folder}/none': there is no such file or folder\n`,
  });
  expect(run('bash', ['-c', script], { cwd: folder, env: { ...env, TMPDIR: spool } })).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
});

for (const [name, target, details] of [
  ['gcs', (origin) => upload.gcsTarget({ url: `${origin}/gcs/disk` }), FULL],
  ['tus', (origin) => upload.tusTarget({ url: `${origin}/tus/files` }), {}],
  ['put', (origin) => upload.putTarget({ url: `${origin}/put/disk` }), FULL],
  [
    's3',
    (origin) => upload.s3Target({ url: `${origin}/s3/disk`, keys: { accessKeyId: 'a', secretAccessKey: 'b' } }),
    FULL,
  ],
] as [string, (origin: string) => Decant.Target, object][]) {
  test(`an upload has the bytes of a file, and its size is known: ${name}`, details, async ({ folder }) => {
    const server = await takeUploads();
    try {
      const expected = await expectedIn(folder);
      const spool = spoolIn(folder);
      const result = await convert(images.plain(), target(server.origin), { ...COMPRESSED, spool });
      const [object] = server.objects.values();
      expect(object!.equals(expected)).toBe(true);
      expect(result).toMatchObject({ outputSize: expected.length, sourceVerified: true, confirmed: true });
      expect(result.bytesWritten + result.holeBytes).toBe(expected.length);
      const lengths = server.asked.map(({ headers }) => headers['upload-length'] ?? headers['content-length']);
      if (name === 'put' || name === 'tus') expect(lengths[0]).toBe(String(expected.length));
      expect(readdirSync(spool)).toEqual([]);
    } finally {
      await server.close();
    }
  });
}

for (const [format, target, written] of [
  ['vpc', 'azurePageBlobTarget', 4096 + 512],
  ['qcow2', 'azurePageBlobTarget', undefined],
  ['vpc', 's3Target', 4096 + 512],
] as const) {
  test(`holes are holes to a target that takes them: ${format}, ${target}`, async ({ folder }) => {
    const server = await takeUploads();
    try {
      const [disk, file, spool] = [join(folder, 'disk'), join(folder, 'file'), spoolIn(folder)];
      writeFileSync(disk, Buffer.alloc(16 * MIB).fill(1, 5 * MIB, 5 * MIB + 1));
      const keys = { accessKeyId: 'a', secretAccessKey: 'b' };
      const output =
        target === 's3Target'
          ? upload.s3Target({ url: `${server.origin}/s3/disk`, keys })
          : upload.azurePageBlobTarget({ url: `${server.origin}/azure/disk?sig=secret` });
      const result = await convert(disk, output, { format, spool }, { inputFormat: 'raw' });
      const [object] = server.objects.values();
      writeFileSync(file, object!);
      qemuImg('compare', '-f', 'raw', '-F', format, disk, file);
      expect(result.holeBytes).toBe(object!.length - result.bytesWritten);
      if (written !== undefined) expect(result.bytesWritten).toBe(written);
      if (target === 'azurePageBlobTarget') expect(output.network!.sent).toBe(result.bytesWritten);
      expect(readdirSync(spool)).toEqual([]);
    } finally {
      await server.close();
    }
  });
}

for (const [state, end, refusal] of [
  ['closed', (stream) => stream.close(), { kind: 'usage', message: 'The stream is closed' }],
  ['failed', (stream) => stream.abort('lost'), { kind: 'target', message: 'Could not write the output: lost' }],
] as [string, (stream: WritableStream) => Promise<void>, { kind: string; message: string }][]) {
  test(`a stream that is ${state} is refused at once`, async ({ folder }) => {
    const spool = spoolIn(folder);
    for (const options of [{ spool }, {}]) {
      const stream = new WritableStream<Uint8Array>();
      await end(stream);
      const phases = new Set<string>();
      const onProgress = ({ phase }: Decant.Progress) => void phases.add(phase);
      const failed = convert(images.plain(), stream, { format: 'raw.gz', ...options, onProgress });
      await expect(failed).rejects.toMatchObject(refusal);
      expect([...phases]).toEqual(['preparing']);
    }
    expect(readdirSync(spool)).toEqual([]);
  });
}

test('the phases of a conversion, and what a target learns', async ({ folder }) => {
  const [expected, spool] = [await expectedIn(folder), spoolIn(folder)];
  const seen: Decant.Progress[] = [];
  const names: string[][] = [];
  const { target, calls, bytes, plan } = keeping();
  const result = await convert(images.plain(), target, {
    ...COMPRESSED,
    spool,
    onProgress(progress) {
      if (progress.phase !== seen.at(-1)?.phase) names.push(readdirSync(spool));
      seen.push(progress);
    },
  });
  expect(bytes().equals(expected)).toBe(true);
  expect(calls).toEqual(['open', 'close']);
  expect(plan()).toEqual({ virtualSize: result.virtualSize, outputSize: expected.length, ascending: true });
  const phases = seen.map(({ phase }) => phase);
  const order = phases.filter((phase, at) => phase !== phases[at - 1]);
  expect(order).toEqual(['preparing', 'converting', 'sending', 'finalizing']);
  const partial = expect.stringMatching(/^\.decant-spool\..*\.partial$/);
  expect(names).toEqual([[], [partial], [partial], []]);
  for (const phase of ['converting', 'sending']) {
    const shares = seen.filter((progress) => progress.phase === phase).map(({ fraction }) => fraction!);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true);
  }
  expect(Object.keys(result.time)).toContain('sending');
});

const lost = () => {
  throw new Error('lost');
};

for (const [what, changes, calls] of [
  ['open', { open: lost }, ['abort: target']],
  ['write', { write: lost }, ['open', 'abort: target']],
  ['close', { close: lost }, ['open', 'abort: target']],
] as [string, Partial<Decant.Target>, string[]][]) {
  test(`a failure of the target leaves nothing: ${what}`, async ({ folder }) => {
    const spool = spoolIn(folder);
    const kept = keeping(changes);
    const failed = convert(images.kinds(), kept.target, { ...COMPRESSED, spool });
    await expect(failed).rejects.toMatchObject({ kind: 'target', message: 'Could not write the output: lost' });
    expect(kept.calls).toEqual(calls);
    expect(readdirSync(spool)).toEqual([]);
  });
}

for (const [phase, waiting, calls] of [
  ['preparing', undefined, ['abort: cancelled']],
  ['converting', undefined, ['abort: cancelled']],
  ['sending', 'open', ['abort: cancelled']],
  ['sending', 'write', ['open', 'abort: cancelled']],
  ['finalizing', 'close', ['open', 'abort: cancelled']],
] as const) {
  test(`a cancel leaves nothing while ${phase}, and ${waiting ?? 'nothing'} waits`, async ({ folder }) => {
    const spool = spoolIn(folder);
    const ending = new AbortController();
    const cancel = () => void setImmediate(() => ending.abort());
    const wait = () => {
      cancel();
      return new Promise<never>(() => {});
    };
    const kept = keeping(waiting ? { [waiting]: wait } : {});
    let last = '';
    const onProgress = (progress: Decant.Progress) => {
      last = progress.phase;
      if (!waiting && last === phase) cancel();
    };
    const options = { ...COMPRESSED, spool, onProgress, signal: ending.signal };
    await expect(convert(images.plain(), kept.target, options)).rejects.toMatchObject({ kind: 'cancelled' });
    expect(last).toBe(phase);
    expect(kept.calls).toEqual(calls);
    expect(readdirSync(spool)).toEqual([]);
  });
}

test('a damaged image is never sent', async ({ folder }) => {
  const spool = spoolIn(folder);
  const kept = keeping();
  const failed = convert(images.corrupt(), kept.target, { ...COMPRESSED, spool });
  await expect(failed).rejects.toMatchObject({ kind: 'corrupt' });
  expect(kept.calls).toEqual(['abort: corrupt']);
  expect(readdirSync(spool)).toEqual([]);
});

test.describe('a folder that is full', () => {
  const ROOM = 2 << 20;
  let spool: string;
  test.beforeEach(({ folder }) => {
    spool = spoolIn(folder);
    asRoot('mount', '-t', 'tmpfs', '-o', `size=${ROOM},mode=777`, 'tmpfs', spool);
  });
  test.afterEach(() => {
    asRoot('umount', spool);
  });

  for (const [format, fields, part] of [
    ['raw', { size: heldDisk.length, free: expect.any(Number) }, `it takes ${heldDisk.length} bytes, and `],
    ['raw.gz', {}, 'the disk is full, or the quota'],
    ['qcow2', {}, 'the disk is full, or the quota'],
  ] as const) {
    test(`fails with what to do, and nothing is left: ${format}`, async () => {
      const kept = keeping();
      const image = await decant.open(new Uint8Array(heldDisk), { inputFormat: 'raw' });
      const reads: number[] = [];
      const onProgress = ({ bytesRead = 0 }: Decant.Progress) => void reads.push(bytesRead);
      const failed = image.convert(kept.target, { format, spool, onProgress });
      await expect(failed).rejects.toMatchObject({
        kind: 'target',
        code: 'spool-full',
        fields: { folder: spool, ...fields },
        message: expect.stringContaining(`has no room in '${spool}': ${part}`),
      });
      await image.close();
      // An output of known size is refused before anything is read.
      if (format === 'raw') expect(Math.max(...reads)).toBe(0);
      expect(kept.calls).toEqual(['abort: target']);
      expect(readdirSync(spool)).toEqual([]);
    });
  }
});

for (const [format, details] of [
  ['raw', FULL],
  ['raw.gz', {}],
] as const) {
  test(`a limit on the size of files names the folder: ${format}`, details, ({ folder }) => {
    const spool = spoolIn(folder);
    const disk = join(folder, 'disk.raw');
    writeFileSync(disk, heldDisk);
    const command = `'${process.execPath}' '${cli}' convert -O ${format} --spool=spool -f raw disk.raw - | cat > out`;
    const ended = run('bash', ['-o', 'pipefail', '-c', `ulimit -f 64; ${command}`], { cwd: folder });
    expect(ended).toMatchObject({
      status: 1,
      stderr:
        "decant: The temporary file has no room in 'spool': its file system, or a limit, does not allow files of this size; choose another folder (spool, --spool=DIR), or convert without it\n",
    });
    expect(readdirSync(spool)).toEqual([]);
  });
}

test('if the disk of a stream has no room, another format is advised', ({ folder }) => {
  const spool = spoolIn(folder);
  writeFileSync(join(folder, 'disk.raw'), heldDisk);
  const command = `cat disk.raw | '${process.execPath}' '${cli}' convert -q -O qcow2 --spool=spool -f raw - out`;
  const ended = run('bash', ['-o', 'pipefail', '-c', `ulimit -f 64; ${command}`], { cwd: folder });
  expect(ended).toMatchObject({
    status: 1,
    stderr:
      "decant: The temporary file has no room in 'spool': its file system, or a limit, does not allow files of this size; choose another folder (spool, --spool=DIR), or choose another output format, such as raw\n",
  });
  expect(readdirSync(spool)).toEqual([]);
});

test('the disk of a stream, stored first, has the notices of the stream', async ({ folder }) => {
  const fixed = join(folder, 'fixed.vhd');
  qemuImg('convert', '-O', 'vpc', '-o', 'subformat=fixed,force_size=on', images.plain(), fixed);
  writeFileSync(join(folder, 'vm.mf'), `SHA1(fixed.vhd)= ${'0'.repeat(40)}\n`);
  run('tar', ['-C', folder, '-cf', join(folder, 'files.tar'), 'fixed.vhd', 'vm.mf']);
  const packed = Buffer.concat([gzipSync(readFileSync(fixed), { level: 1 }), Buffer.from('a trailer')]);
  for (const [file, code] of [
    [packed, 'trailer'],
    [readFileSync(join(folder, 'files.tar')), 'manifest-unchecked'],
  ] as const) {
    const noticesOf = async (format: string) =>
      closing(await decant.open(new Blob([file]).stream()), async (image) => {
        const { notices } = await image.convert(join(folder, format), { format, spool: folder });
        return notices.map(({ code }) => code);
      });
    const notices = await noticesOf('raw');
    expect(notices).toEqual(expect.arrayContaining(['vhd-footer', code]));
    expect(await noticesOf('qcow2')).toEqual(notices);
  }
});

test.describe('a process that ends', () => {
  const partials = (spool: string) => readdirSync(spool).filter((name) => name.endsWith('.partial'));

  /** Starts a conversion that is held after it has begun to write the temporary file. */
  async function begin(spool: string, ...args: string[]) {
    const started = start('convert', '-q', '-c', '-O', 'qcow2', `--spool=${spool}`, ...args, '-');
    await expect.poll(() => partials(spool), PATIENTLY).toHaveLength(1);
    return started;
  }

  test('leaves nothing after SIGINT, and a file for the next sweep after SIGKILL', async ({ folder }) => {
    const spool = spoolIn(folder);
    const remote = await serveDisk();
    try {
      remote.allow(heldDisk.length / 2);
      const interrupted = await begin(spool, '-f', 'raw', remote.url);
      interrupted.child.kill('SIGINT');
      expect(await interrupted.ended).toMatchObject({ status: 130, stdout: '', stderr: 'decant: interrupted\n' });
      expect(readdirSync(spool)).toEqual([]);
      const killed = await begin(spool, '-f', 'raw', remote.url);
      killed.child.kill('SIGKILL');
      expect((await killed.ended).stdout).toBe('');
      expect(partials(spool)).toHaveLength(1);
    } finally {
      await remote.close();
    }
    await convert(images.kinds(), keeping().target, { ...COMPRESSED, spool });
    expect(readdirSync(spool)).toEqual([]);
  });

  test('leaves nothing after SIGINT while its reader waits', async ({ folder }) => {
    const spool = spoolIn(folder);
    const { child, ended } = start('convert', '-q', '-c', '-O', 'qcow2', `--spool=${spool}`, images.plain(), '-');
    await new Promise((resolve) => child.stdout!.once('data', resolve));
    child.stdout!.pause();
    expect(partials(spool)).toHaveLength(1);
    child.kill('SIGINT');
    await expect.poll(() => partials(spool), PATIENTLY).toEqual([]);
    child.stdout!.resume();
    expect(await ended).toMatchObject({ status: 130, stderr: 'decant: interrupted\n' });
  });

  test('leaves nothing when its reader is gone', async ({ folder }) => {
    const spool = spoolIn(folder);
    const command = `'${process.execPath}' '${cli}' convert -c -O qcow2 --spool=spool '${images.plain()}' -`;
    const { ended } = startProgram('bash', [
      '-c',
      `cd '${folder}'; ${command} | head -c 100000 | wc -c; echo "\${PIPESTATUS[0]}"`,
    ]);
    const { stdout, stderr } = await ended;
    expect(stdout).toBe('100000\n1\n');
    expect(stderr).toMatch(/^decant: Could not write to standard output: its reader has ended\n$/);
    expect(readdirSync(spool)).toEqual([]);
  });
});

test('a temporary file that cannot be removed is named', ({ folder }) => {
  const spool = spoolIn(folder);
  const env = withFaults({ fault: 'unlink EPERM' });
  const script = (image: string) =>
    `'${process.execPath}' '${cli}' convert -c -O qcow2 --spool=spool '${image}' - > out`;
  const name = () => `'${join(spool, readdirSync(spool)[0]!)}' could not be removed: the operation is not permitted\n`;
  const done = run('bash', ['-c', script(images.kinds())], { cwd: folder, env });
  expect(done).toMatchObject({ status: 0 });
  expect(done.stderr).toBe(`decant: note: The output is complete, but the temporary file ${name()}`);
  run(process.execPath, [cli, 'convert', images.kinds(), join(spool, 'swept')]);
  expect(readdirSync(spool)).toEqual(['swept']);
});

for (const [what, change, isLeft] of [
  ['is removed', (path) => unlinkSync(path), false],
  ['is moved', (path) => renameSync(path, `${path}.moved`), true],
  ['is replaced', (path) => renameSync(path, `${path}.moved`) ?? writeFileSync(path, 'other'), true],
  ['is in a folder that is moved', (path) => renameSync(dirname(path), `${dirname(path)}.moved`), true],
] as [string, (path: string) => void, boolean][]) {
  test(`a temporary file that ${what} while it is sent`, async ({ folder }) => {
    const spool = spoolIn(folder);
    let path = '';
    const open = async () => {
      path = join(spool, readdirSync(spool)[0]!);
      change(path);
    };
    const { target, bytes } = keeping({ open });
    const { notices } = await convert(images.kinds(), target, { ...COMPRESSED, spool });
    expect(bytes().equals(await expectedIn(folder, images.kinds()))).toBe(true);
    const left = {
      code: 'spool-left',
      fields: { file: path },
      message: `The output is complete, but the temporary file '${path}' could not be removed: it, or its folder, was moved`,
    };
    expect(notices).toEqual(isLeft ? [left] : []);
    if (what === 'is replaced') expect(readFileSync(path, 'utf8')).toBe('other');
  });
}

test('options of files are refused for targets and streams, which are aborted', async () => {
  for (const name of ['existing', 'sync'] as const) {
    const message = `'${name}' needs a file, not a stream or a custom target`;
    const kept = keeping();
    const toTarget = convert(images.kinds(), kept.target, { [name]: true });
    await expect(toTarget).rejects.toMatchObject({ kind: 'usage', message });
    expect(kept.calls).toEqual(['abort: usage']);
    const reasons: unknown[] = [];
    const stream = new WritableStream<Uint8Array>({ abort: (reason) => void reasons.push(reason) });
    await expect(convert(images.kinds(), stream, { [name]: true })).rejects.toMatchObject({ kind: 'usage', message });
    expect(reasons).toMatchObject([{ kind: 'usage' }]);
  }
});

test('options that make no sense are refused before anything is written, and the target is aborted', async ({
  folder,
}) => {
  const spool = spoolIn(folder);
  for (const [options, part] of [
    [{ spool, twoPass: true }, 'Choose either two passes (twoPass, --two-pass) or a temporary file (spool, --spool)'],
    [{ spool, resume: true }, "A conversion with a temporary file ('spool') cannot be resumed"],
    [{ spool: '' }, "'spool' must be true, false or a folder"],
    [{ spool: 7 as never }, "'spool' must be true, false or a folder"],
    [{ spool: 'https://host/spool' }, 'is neither a path nor a supported URL'],
  ] as [Decant.ConvertOptions, string][]) {
    const kept = keeping();
    const failed = convert(images.kinds(), kept.target, { ...COMPRESSED, ...options });
    await expect(failed).rejects.toMatchObject({ kind: 'usage', message: expect.stringContaining(part) });
    expect(kept.calls).toEqual(['abort: usage']);
  }
  const needless = { kind: 'usage', message: expect.stringContaining('only for outputs that take bytes in ascending') };
  for (const output of [join(folder, 'out'), keeping({ ascending: false }).target]) {
    await expect(convert(images.kinds(), output, { ...COMPRESSED, spool })).rejects.toMatchObject(needless);
  }
  expect(readdirSync(folder)).toEqual(['spool']);
  expect(readdirSync(spool)).toEqual([]);
});

for (const [fault, status, stderr] of [
  ['fsync EIO', 1, /^decant: Could not write '.*\.partial': the disk reports an error\n$/],
  ['write short', 0, /^$/],
  ['write zero', 1, /^decant: Could not write '.*\.partial': 0 bytes were written\n$/],
] as const) {
  test(`what the system does not write to the temporary file is never sent: ${fault}`, ({ folder }) => {
    const spool = spoolIn(folder);
    const command = `'${process.execPath}' '${cli}' convert -c -O qcow2 --spool=spool '${images.kinds()}' - | cat > out`;
    const ended = run('bash', ['-o', 'pipefail', '-c', command], { cwd: folder, env: withFaults({ fault }) });
    expect(ended).toMatchObject({ status, stderr: expect.stringMatching(stderr) });
    if (status === 0) qemuImg('compare', join(folder, 'out'), images.kinds());
    else expect(readFileSync(join(folder, 'out'))).toHaveLength(0);
    expect(readdirSync(spool)).toEqual([]);
  });
}
