// The command as a process: output, leftovers, exit codes.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { asRoot, cli, decant, listening, program, start, startFed, startProgram, sudo } from '../support/command.js';
import { DISK_SIZE, diskUsage, flush, hashFile, images, PASSWORD, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { serveFile } from '../support/remote.js';

for (const [image, details] of [
  ['zlib', {}],
  ['tiny', FULL],
  ['plain', FULL],
  ['scattered', FULL],
] as const) {
  test(`converts ${image} to what qemu-img makes, as sparse`, details, ({ folder }) => {
    const output = join(folder, 'out.raw');
    const result = decant('convert', images[image](), output);
    expect(result).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(hashFile(output)).toBe(hashFile(images.raw()));
    for (const path of [output, images.raw()]) flush(path);
    expect(diskUsage(output)).toBeLessThanOrEqual(diskUsage(images.raw()) * 1.01);
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });
}

test('an empty disk of 100 GiB takes no space', ({ folder }) => {
  const output = join(folder, 'out.raw');
  expect(decant('convert', images.empty(), output).status).toBe(0);
  expect(statSync(output).size).toBe(100 * 2 ** 30);
  expect(diskUsage(output)).toBeLessThan(1 << 20);
});

test.describe('info and map print what qemu-img prints', () => {
  const qemu = (...args: string[]) => {
    process.env.TZ = 'UTC';
    return qemuImg(...args);
  };

  for (const [image, details] of [
    ['kinds', {}],
    ['snapshots', FULL],
    ['zlib', FULL],
    ['plain', FULL],
    ['tiny', FULL],
    ['empty', FULL],
  ] as const) {
    test(image, details, () => {
      const path = images[image]();
      // Until its last blocks are on the disk, a new file's size there still changes.
      flush(path);
      expect(decant('info', path).stdout).toBe(qemu('info', path));
      const { decant: ours, ...info } = JSON.parse(decant('info', '--output=json', path).stdout);
      expect(info).toEqual(JSON.parse(qemu('info', '--output=json', path)));
      expect(ours).toMatchObject({ 'file-size': statSync(path).size, needs: [] });
      expect(decant('map', '--output=json', path).stdout).toBe(qemu('map', '--output=json', path));
    });
  }

  test('the table of a map', () => {
    expect(decant('map', images.kinds()).stdout).toBe(qemu('map', images.kinds()));
    const compressed = decant('map', images.zlib());
    expect(compressed).toMatchObject({ status: 1, stderr: expect.stringMatching(/^decant: .*compressed.*\n$/) });
  });
});

/** The files in a folder for the rows below. */
function fill(folder: string): void {
  writeFileSync(join(folder, 'paper.pdf'), '%PDF-1.7');
  execFileSync('mkfifo', [join(folder, 'fifo')]);
}

// (arguments, exit code, a part of the message); `{folder}` holds the files of `fill`. worker/cli/arguments.test.ts has faults
// of the arguments alone.
const FAILURES: [args: () => string[], status: number, part: string][] = [
  [() => [images.zlib(), '{folder}/out.raw'], 2, 'did you mean: decant convert '],
  [() => ['convert', '-f', 'bochs', images.zlib(), '{folder}/out.raw'], 2, "no input format 'bochs'"],
  [() => ['convert', images.zlib(), '{folder}'], 2, 'is a folder; choose a file\n'],
  [() => ['convert', images.zlib(), '{folder}/fifo'], 2, 'block device; give - as the output and redirect'],
  [() => ['convert', '-O', 'raw', images.zlib(), images.zlib()], 2, 'the image itself'],
  [() => ['info', '{folder}/missing.qcow2'], 1, 'no such file'],
  [() => ['convert', images.zlib(), '{folder}/missing/out.raw'], 1, 'no such file or folder'],
  [() => ['convert', images.truncated(), '{folder}/out.raw'], 1, 'truncated'],
];

const MORE_FAILURES: typeof FAILURES = [
  [() => ['convert', '--forr', 'azure', images.zlib(), '{folder}/out.raw'], 2, 'did you mean --for?'],
  [() => ['create', '{folder}/out.raw', '1G'], 2, 'use qemu-img create'],
  [() => ['convert', '-O', 'qed', images.zlib(), '{folder}/out.raw'], 2, 'raw'],
  [() => ['convert', images.zlib(), '{folder}/missing/'], 2, 'is a folder; choose a file'],
  [() => ['convert', images.zlib(), '/sys/out.raw'], 1, 'permi'],
  [() => ['info', '/dev/zero'], 2, 'neither a file, a block device nor a pipe'],
  [() => ['convert', '{folder}/paper.pdf', '{folder}/out.raw'], 1, 'is a PDF, not a disk image'],
  [() => ['convert', '--snapshot', 'nope', images.states(), '{folder}/out.raw'], 2, "no snapshot 'nope'"],
  [() => ['frobnicate'], 2, "no command 'frobnicate'"],
  [() => ['info'], 2, 'image is missing'],
  [() => ['info', images.zlib(), images.zlib()], 2, 'Unexpected argument'],
  [() => ['info', '--output=xml', images.zlib()], 2, '--output'],
  [() => ['info', '--frob', images.zlib()], 2, '--frob'],
  [() => ['convert', images.zlib()], 2, 'output is missing'],
  [() => ['convert', '-m', '0', images.zlib(), '{folder}/out.raw'], 2, "-m takes a whole number from 1 to 64, not '0'"],
  [() => ['convert', '-m', '65', images.zlib(), '{folder}/out.raw'], 2, "not '65'"],
  [() => ['convert', '-m', 'many', images.zlib(), '{folder}/out.raw'], 2, "not 'many'"],
  [() => ['convert', '-m', '', images.zlib(), '{folder}/out.raw'], 2, "not ''"],
  [() => ['convert', images.zlib(), '/dev/null'], 2, 'block device; give - as the output'],
  [() => ['convert', images.chain().top, '{folder}/out.raw'], 1, "'middle.qcow2', the backing file"],
  [() => ['map', images.chain().top], 1, "'middle.qcow2', the backing file"],
  [() => ['convert', '--with', '{folder}/missing.qcow2', images.zlib(), '{folder}/out.raw'], 1, 'no such file'],
  [() => ['convert', images.luks(), '{folder}/out.raw'], 1, 'give its password'],
  [
    () => ['convert', '--password-file', '{folder}/paper.pdf', images.luks(), '{folder}/out.raw'],
    1,
    'The password is wrong',
  ],
  [() => ['convert', '--password-file', '{folder}/missing', images.luks(), '{folder}/out.raw'], 1, 'no such file'],
];

for (const [title, failures, details] of [
  ['exit codes and messages', FAILURES, {}],
  ['more exit codes and messages', MORE_FAILURES, FULL],
] as const) {
  test(title, details, ({ folder }) => {
    fill(folder);
    for (const [args, status, part] of failures) {
      const given = args().map((argument) => argument.replace('{folder}', folder));
      const result = decant(...given);
      expect(result.stderr, given.join(' ')).toMatch(/^decant: [^\n]*\n$/);
      expect(result.stderr).toContain(part);
      expect(result, given.join(' ')).toMatchObject({ status, stdout: '' });
    }
    expect(readdirSync(folder).toSorted()).toEqual(['fifo', 'paper.pdf']);
  });
}

for (const [args, usage, details] of [
  [['--help'], 'COMMAND', {}],
  [['convert', '--help'], 'convert', FULL],
  [['info', '-h', 'x'], 'info', FULL],
] as const) {
  test(`${args.join(' ')} prints the usage`, details, () => {
    const stdout = expect.stringContaining(`usage: decant ${usage} `);
    expect(decant(...args)).toMatchObject({ status: 0, stderr: '', stdout });
  });
}

test('no arguments print the usage as an error', () => {
  expect(decant()).toMatchObject({ status: 2, stdout: '', stderr: decant('--help').stdout });
});

test('the version', () => {
  const stdout = expect.stringMatching(/^\d+\.\d+\.\d+\n$/);
  expect(decant('--version')).toMatchObject({ status: 0, stderr: '', stdout });
});

test('an image that is marked as corrupt is noted', ({ folder }) => {
  const image = join(folder, 'marked.qcow2');
  const bytes = readFileSync(images.empty());
  // The lowest byte of the incompatible features: bit 1.
  bytes[79]! |= 2;
  writeFileSync(image, bytes);
  expect(decant('convert', image, join(folder, 'out.raw'))).toMatchObject({
    status: 0,
    stderr: 'decant: note: The image is marked as corrupt; it is read as it is\n',
  });
});

test('a password that no layer needs is noted', ({ folder }) => {
  const password = join(folder, 'password');
  writeFileSync(password, 'secret');
  expect(decant('convert', '--password-file', password, images.empty(), join(folder, 'out.raw'))).toMatchObject({
    status: 0,
    stderr: 'decant: note: no layer is encrypted, so --password-file is not needed\n',
  });
});

test('companions are handed over by file or by name', ({ folder }) => {
  const { top, below, raw } = images.chain();
  const output = join(folder, 'out.raw');
  const [middle, base] = below as [string, string];
  const cases: [string[], string][] = [
    [['--with', middle, '--with', base], ''],
    [['--with', `middle.qcow2=${middle}`, '--with', base], ''],
    [
      ['--with', base, '--with', middle, '--with', images.empty()],
      `decant: note: no layer refers to '${images.empty()}'\n`,
    ],
  ];
  for (const [companions, warning] of cases) {
    expect(decant('convert', ...companions, top, output)).toMatchObject({ status: 0, stderr: warning });
    expect(hashFile(output)).toBe(hashFile(raw));
  }
  const itself = decant('convert', '--with', `middle.qcow2=${top}`, top, output);
  expect(itself).toMatchObject({ status: 2, stderr: expect.stringContaining('NAME=FILE') });
  const over = decant('convert', '-O', 'raw', '--with', middle, '--with', base, top, base);
  expect(over).toMatchObject({ status: 2, stderr: expect.stringContaining('a file that the image needs') });
});

test('salvage ends with 3 and lists what is lost', ({ folder }) => {
  const output = join(folder, 'out.raw');
  const { status, stderr } = decant('convert', '--salvage', images.damaged(), output);
  expect(status).toBe(3);
  expect(stderr).toMatch(/^decant: lost: \d+ bytes at \d+: .*does not decompress/m);
  expect(stderr).toMatch(/^decant: lost: \d+ bytes at \d+: the file ends/m);
  expect(stderr).toMatch(/is damaged: \d+ bytes of the disk were lost or may be wrong\n$/);
  expect(statSync(output).size).toBe(DISK_SIZE);
  const map = decant('map', '--output=json', '--salvage', images.damaged());
  expect(map).toMatchObject({ status: 3, stderr: expect.stringMatching(/^decant: lost: \d+ bytes at \d+: the file/m) });
});

test('a password from standard input', ({ folder }) => {
  const output = join(folder, 'out.raw');
  const args = [cli, 'convert', '--password-file', '-', images.luks(), output];
  expect(spawnSync(process.execPath, args, { input: `${PASSWORD}\n`, timeout: 60_000 }).status).toBe(0);
  expect(hashFile(output)).toBe(hashFile(images.raw()));
});

test('info tries the password that it is given', ({ folder }) => {
  const file = join(folder, 'password');
  for (const [password, status, needs] of [
    [PASSWORD, 0, false],
    ['wrong', 1, false],
    [undefined, 0, true],
  ] as const) {
    if (password !== undefined) writeFileSync(file, password);
    const result = decant('info', ...(password === undefined ? [] : ['--password-file', file]), images.luks());
    expect([result.status, result.stdout.includes('Needed for a conversion')]).toEqual([status, needs]);
  }
});

test('Ctrl-C ends the wait for a password', async () => {
  const child = spawn(process.execPath, [cli, 'info', '--password-file', '-', images.luks()], { stdio: 'pipe' });
  const ended = new Promise<number | null>((done) => child.on('exit', done));
  await listening(child);
  child.kill('SIGINT');
  expect(await ended).toBe(130);
});

for (const [what, script] of [
  ['nohup', 'nohup "$@" <&0 & echo $! > "$0"; wait $!'],
  ['a script that ignores SIGHUP', 'trap "" HUP; "$@" <&0 & echo $! > "$0"; wait $!'],
] as const) {
  test(`under ${what}, the command survives its terminal`, async ({ folder }) => {
    const noted = join(folder, 'pid');
    const args = [process.execPath, cli, 'info', '--password-file', '-', images.luks()];
    const { child, ended } = startProgram('bash', ['-c', script, noted, ...args], {}, 'pipe');
    await expect.poll(() => existsSync(noted) && readFileSync(noted, 'utf8')).toMatch(/\n/);
    const pid = Number(readFileSync(noted, 'utf8'));
    await listening({ pid });
    process.kill(pid, 'SIGHUP');
    child.stdin!.end(PASSWORD);
    expect(await ended).toMatchObject({ status: 0, stderr: '' });
  });
}

test('a program may be given as an option, and hand over files in memory', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { open } from '${new URL('../../dist/node.js', import.meta.url)}';
    const image = await open(new File([readFileSync('${images.kinds()}')], 'kinds.qcow2'));
    const errors = [];
    for (const options of [null, { password: 5 }, { format: 5 }]) {
      await open('${images.kinds()}', options).catch(({ kind }) => errors.push(kind));
    }
    console.log(image.info.name, errors.join());
    await image.close();
  `;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect(stdout).toBe('kinds.qcow2 usage,usage,usage\n');
});

test('invalid signals and options are refused by every call of the API', () => {
  const ended = program<string[]>(
    `const image = await decant.open(args[0]);
    const ended = [];
    for (const options of [null, { signal: new AbortController() }]) {
      for (const call of [
        () => decant.open(args[0], options),
        () => image.unlock(options),
        () => image.map(options).next(),
        () => image.read(0, 512, options),
        async () => image.readable(options).getReader().read(),
        () => image.convert(new WritableStream(), options),
      ]) {
        ended.push(await call().then(() => 'done', ({ name, kind }) => name + ' ' + kind));
      }
    }
    await image.close();
    console.log(JSON.stringify(ended));`,
    images.kinds(),
  );
  expect(ended).toEqual(Array(12).fill('DecantError usage'));
});

test('raw is read when it is said, never guessed', ({ folder }) => {
  const [file, output] = [join(folder, 'disk.raw'), join(folder, 'out.raw')];
  writeFileSync(file, Buffer.alloc(10_000, 3));
  expect(decant('convert', file, output)).toMatchObject({ status: 1, stderr: expect.stringContaining('format raw') });
  expect(decant('convert', '-f', 'raw', file, output).status).toBe(0);
  expect(readFileSync(output)).toEqual(Buffer.concat([Buffer.alloc(10_000, 3), Buffer.alloc(240)]));
});

test('a target is replaced only when the conversion has succeeded', ({ folder }) => {
  const [target, link, other] = [join(folder, 'target'), join(folder, 'link'), join(folder, 'other')];
  writeFileSync(target, 'precious');
  chmodSync(target, 0o640);
  linkSync(target, other);
  symlinkSync('target', link);
  expect(decant('convert', images.truncated(), link).status).toBe(1);
  expect(readFileSync(target, 'utf8')).toBe('precious');
  expect(decant('convert', images.zlib(), link).status).toBe(0);
  expect(readlinkSync(link)).toBe('target');
  expect(hashFile(target)).toBe(hashFile(images.raw()));
  expect(statSync(target).mode & 0o777).toBe(0o640);
  expect(readFileSync(other, 'utf8')).toBe('precious');
  expect(readdirSync(folder).toSorted()).toEqual(['link', 'other', 'target']);
});

test('an image behind a link or another name is still the image', ({ folder }) => {
  const [image, hard, soft] = [join(folder, 'image.qcow2'), join(folder, 'hard'), join(folder, 'soft')];
  qemuImg('create', '-q', '-f', 'qcow2', image, '1M');
  linkSync(image, hard);
  symlinkSync(image, soft);
  for (const output of [hard, soft]) {
    expect(decant('convert', image, output)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('the image itself'),
    });
  }
});

/** The end of an interrupted conversion, but for its exit code. */
const INTERRUPTED = { stdout: '', stderr: 'decant: interrupted\n' };

/** The bytes that files in `folder` use on the disk. */
const usedIn = (folder: string) => readdirSync(folder).reduce((sum, name) => sum + diskUsage(join(folder, name)), 0);

for (const [signal, status, moment, pieces, details] of [
  ['SIGINT', 130, 'the output was begun', 0, FULL],
  ['SIGINT', 130, 'a part of it was written', 2, {}],
  ['SIGTERM', 143, 'the output was begun', 0, {}],
  ['SIGTERM', 143, 'a part of it was written', 2, FULL],
  ['SIGHUP', 129, 'a part of it was written', 2, FULL],
] as const) {
  test(`${signal} when ${moment} leaves nothing and ends with ${status}`, details, async ({ folder }) => {
    const { child, ended } = startFed('convert', '-f', 'raw', '-', join(folder, 'out.raw'));
    // It waits for more, then.
    for (let at = 0; at < pieces; at += 1) child.stdin!.write(Buffer.alloc(4 << 20, 7));
    await expect.poll(() => readdirSync(folder)).toHaveLength(1);
    if (pieces > 0) await expect.poll(() => usedIn(folder)).toBeGreaterThan(0);
    child.kill(signal);
    expect(await ended).toEqual({ ...INTERRUPTED, status });
    expect(readdirSync(folder)).toEqual([]);
  });
}

/**
 * A server of `large` that leaves requests ending in its second half (after the tables) open, and whether there was one. It answers
 * for the last 512 bytes, which identify a file.
 */
async function serveHalf() {
  let waits = false;
  const file = readFileSync(images.large());
  const server = await serveFile(file, {
    answer: ({ headers }) => {
      const [, first, last] = /(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
      const isHeld = Number(last) > 6 << 20 && Number(first) !== file.length - 512;
      waits ||= isHeld;
      return isHeld;
    },
  });
  return { server, waits: () => waits };
}

/** Makes the clock of a program stand still: signals are one press of Ctrl-C then, however late they arrive. */
const STILL = ['--import', 'data:text/javascript,performance.now = () => 0'];

test('Ctrl-C, however often, ends workers that have written a half and wait for the other one', async ({ folder }) => {
  const { server, waits } = await serveHalf();
  try {
    const command = [...STILL, cli, 'convert', '-q', '-m', '2', server.url, join(folder, 'out.raw')];
    const { child, ended } = startProgram(process.execPath, command);
    await expect.poll(() => waits() && readdirSync(folder).length > 0 && usedIn(folder) > 0).toBe(true);
    for (let times = 0; times < 5; times += 1) child.kill('SIGINT');
    expect(await ended).toEqual({ ...INTERRUPTED, status: 130 });
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    await server.close();
  }
});

test('Ctrl-C ends a conversion of a file whose reader takes nothing', async () => {
  const child = spawn(process.execPath, [cli, 'convert', images.zlib(), '-'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  // The disk is larger than the pipe's buffer.
  await new Promise((resolve) => child.stdout.once('readable', resolve));
  child.kill('SIGINT');
  expect(await ended).toBe(130);
});

test('a long name in another script', ({ folder }) => {
  const name = `${'盘'.repeat(80)}.raw`;
  expect(decant('convert', images.kinds(), join(folder, name))).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(folder)).toEqual([name]);
});

test('a full disk is an error that leaves nothing', ({ folder }) => {
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${DISK_SIZE >> 4},mode=777`, 'tmpfs', folder);
  try {
    const output = join(folder, 'out.raw');
    const stderr = `decant: Could not write '${output}': the disk is full\n`;
    expect(decant('convert', images.zlib(), output)).toEqual({ status: 1, stdout: '', stderr });
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    asRoot('umount', folder);
  }
});

test('a full disk keeps the progress of a conversion that can be resumed', ({ folder }) => {
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${DISK_SIZE >> 2},mode=777`, 'tmpfs', folder);
  try {
    const output = join(folder, 'out.raw');
    const kept = 'progress was saved; run again with resume to continue (--resume)';
    const stderr = `decant: Could not write '${output}': the disk is full; ${kept}\n`;
    // With several workers, one could fill the disk before another has written the start.
    expect(decant('convert', '-m', '1', '--resume', images.plain(), output)).toEqual({ status: 1, stdout: '', stderr });
    expect(readdirSync(folder)).toHaveLength(2);
    asRoot('mount', '-o', `remount,size=${DISK_SIZE * 2}`, folder);
    expect(decant('convert', '--resume', images.plain(), output)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(hashFile(output)).toBe(hashFile(images.raw()));
    expect(readdirSync(folder)).toEqual(['out.raw']);
  } finally {
    asRoot('umount', folder);
  }
});

test('a block device is written in place, holes as zeros', FULL, ({ folder }) => {
  const backing = join(folder, 'backing');
  execFileSync('sh', ['-c', `tr '\\0' '\\377' < /dev/zero | head -c ${DISK_SIZE} > '${backing}'`]);
  truncateSync(backing, DISK_SIZE + (10 << 20));
  const device = asRoot('losetup', '--find', '--show', backing);
  try {
    if (sudo.length > 0) asRoot('chmod', '666', device);
    expect(decant('convert', images.large(), device)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('larger device'),
    });
    expect(decant('convert', images.zlib(), device)).toMatchObject({ status: 0, stderr: '' });
    execFileSync('cmp', ['-n', String(DISK_SIZE), device, images.raw()]);
  } finally {
    asRoot('losetup', '--detach', device);
  }
});

test('progress is one line, and -q hides it', ({ folder }) => {
  const output = join(folder, 'out.raw');
  const { status, stderr } = decant('convert', '-p', images.zlib(), output);
  expect(status).toBe(0);
  const lines = stderr.split('\r').filter((line) => line !== '');
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.at(-1)).toMatch(/^ {4}\(100\.00\/100%\) *\n$/);
  for (const line of lines.slice(0, -1)) expect(line).toMatch(/^ {4}\(\d+\.\d\d\/100%\)[^\n]*$/);
  expect(decant('convert', '-p', '-q', images.zlib(), output)).toMatchObject({ status: 0, stderr: '' });
});

test('progress shows speed and time left', async ({ folder }) => {
  const size = 256 << 20;
  const waiting: (() => void)[] = [];
  // An empty disk, which the test sends part by part.
  const server = await serveFile(Buffer.alloc(0), {
    answer: ({ headers }, response) => {
      const [first, last] = /(\d+)-(\d+)$/.exec(headers.range!)!.slice(1).map(Number) as [number, number];
      const end = Math.min(last + 1, size);
      const range = { 'Content-Range': `bytes ${first}-${end - 1}/${size}`, 'Content-Length': end - first };
      waiting.push(() => response.writeHead(206, { ETag: '"now"', ...range }).end(Buffer.alloc(end - first)));
      return true;
    },
  });
  try {
    const { child, ended } = start('convert', '-p', '-f', 'raw', server.url, join(folder, 'out.raw'));
    let stderr = '';
    child.stderr!.on('data', (text: string) => {
      stderr += text;
    });
    const sendOne = () => {
      waiting.shift()?.();
      return stderr;
    };
    const line = /\(\d+\.\d\d\/100%\) {2}\d+ MB\/s {2}\d+:\d\d left/;
    await expect.poll(sendOne, { intervals: [120] }).toMatch(line);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ status: 130, stderr: expect.stringMatching(/\ndecant: interrupted\n$/) });
  } finally {
    await server.close();
  }
});
