// Changes by other programs during a conversion: their data is not lost, and no partial output is left.

import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { cli, program, programIn, run, startFed, sudo } from '../support/command.js';
import { type Fault, withFaults } from '../support/faults.js';
import { DISK_SIZE, hashFile, images } from '../support/images.js';
import { expect, test } from '../support/node.js';

interface Ended {
  kind: string;
  message: string;
}

/** Converts a copy of `zlib` over an old file; `meanwhile` runs once, when it has begun to write. */
function convert(folder: string, meanwhile: string): Ended {
  mkdirSync(join(folder, 'to'));
  copyFileSync(images.zlib(), join(folder, 'image.qcow2'));
  return program<Ended>(
    `const fs = await import('node:fs');
    process.chdir(args[0]);
    fs.writeFileSync('to/out.raw', 'old');
    fs.writeFileSync('precious', 'precious');
    const image = await decant.open('image.qcow2', { workers: 1 });
    let begun = false;
    const onProgress = ({ phase }) => {
      if (phase !== 'converting' || begun) return;
      begun = true;
      const partial = 'to/' + fs.readdirSync('to').find((name) => name.endsWith('.partial'));
      ${meanwhile};
    };
    const ended = await image.convert('to/out.raw', { onProgress }).then(() => ({}), (thrown) => thrown);
    await image.close();
    console.log(JSON.stringify({ kind: ended.kind, message: ended.message }));`,
    folder,
  );
}

const OLD = 'old';

for (const { name, meanwhile, said, left, out, tag = '@full' } of [
  {
    name: 'the image is renamed to the output',
    meanwhile: "fs.renameSync('image.qcow2', 'to/out.raw')",
    said: 'is the image itself',
    left: ['out.raw'],
    out: 'image',
  },
  {
    name: 'the output becomes a link',
    meanwhile: "fs.unlinkSync('to/out.raw'); fs.symlinkSync('../precious', 'to/out.raw')",
    said: 'is no longer a regular file',
    left: ['out.raw'],
    out: 'link',
  },
  {
    name: 'the output becomes a folder',
    meanwhile: "fs.unlinkSync('to/out.raw'); fs.mkdirSync('to/out.raw')",
    said: 'is no longer a regular file',
    left: ['out.raw'],
    out: 'folder',
  },
  {
    name: 'the output becomes another file',
    meanwhile: "fs.writeFileSync('other', 'of somebody else'); fs.renameSync('other', 'to/out.raw')",
    said: 'has changed',
    left: ['out.raw'],
    out: 'of somebody else',
    tag: [],
  },
  {
    name: 'the output is written in place',
    meanwhile: "fs.writeFileSync('to/out.raw', 'of somebody else')",
    said: 'has changed',
    left: ['out.raw'],
    out: 'of somebody else',
    tag: [],
  },
  {
    name: 'the output is removed and made anew',
    meanwhile: "fs.unlinkSync('to/out.raw'); fs.writeFileSync('to/out.raw', 'of somebody else')",
    said: 'has changed',
    left: ['out.raw'],
    out: 'of somebody else',
  },
  {
    name: 'the temporary file is removed',
    meanwhile: 'fs.unlinkSync(partial)',
    said: 'has removed or replaced',
    left: ['out.raw'],
    out: OLD,
  },
  {
    name: 'the temporary file is replaced',
    meanwhile: "fs.renameSync('precious', partial)",
    said: 'has removed or replaced',
    left: [expect.stringMatching(/partial$/), 'out.raw'],
    out: OLD,
    tag: [],
  },
  {
    name: 'the temporary file is cut',
    meanwhile: 'const written = fs.statSync(partial).size; fs.truncateSync(partial, written + 512)',
    said: `bytes instead of ${DISK_SIZE}`,
    left: ['out.raw'],
    out: OLD,
  },
  {
    name: 'the image is cut',
    meanwhile: "fs.truncateSync('image.qcow2', 1 << 20)",
    said: 'was changed while it was read',
    left: ['out.raw'],
    out: OLD,
  },
  {
    name: 'the image is written to',
    meanwhile:
      "const fd = fs.openSync('image.qcow2', 'r+'); fs.writeSync(fd, new Uint8Array(1 << 16), 0, 1 << 16, 50e6)",
    said: 'was changed while it was read',
    left: ['out.raw'],
    out: OLD,
    tag: [],
  },
  {
    name: 'the image is touched',
    meanwhile: "fs.utimesSync('image.qcow2', 1, 1)",
    said: 'was changed while it was read',
    left: ['out.raw'],
    out: OLD,
  },
]) {
  test(name, { tag }, ({ folder }) => {
    const ended = convert(folder, meanwhile);
    expect(ended.message).toContain(said);
    const output = join(folder, 'to', 'out.raw');
    const kind = lstatSync(output);
    if (kind.isSymbolicLink()) expect(out).toBe('link');
    else if (kind.isDirectory()) expect(out).toBe('folder');
    else if (out === 'image') expect(hashFile(output)).toBe(hashFile(images.zlib()));
    else expect(readFileSync(output, 'utf8')).toBe(out);
    expect(readdirSync(join(folder, 'to')).toSorted()).toEqual(left);
    const kept =
      name === 'the temporary file is replaced'
        ? join('to', readdirSync(join(folder, 'to')).toSorted()[0]!)
        : 'precious';
    expect(readFileSync(join(folder, kept), 'utf8')).toBe('precious');
  });
}

for (const { name, meanwhile } of [
  { name: 'removed', meanwhile: "fs.unlinkSync('image.qcow2')" },
  { name: 'replaced', meanwhile: "fs.renameSync('precious', 'image.qcow2')" },
  { name: 'given another name', meanwhile: "fs.renameSync('image.qcow2', 'other.qcow2')" },
]) {
  test(`the name of the image is ${name}: what was opened is converted`, { tag: '@full' }, ({ folder }) => {
    expect(convert(folder, meanwhile)).toEqual({});
    expect(hashFile(join(folder, 'to', 'out.raw'))).toBe(hashFile(images.raw()));
  });
}

test('a file that another program makes under the new name stays', { tag: '@full' }, ({ folder }) => {
  const ended = program<Ended>(
    `const fs = await import('node:fs');
    process.chdir(args[0]);
    const image = await decant.open(args[1]);
    const onProgress = ({ phase }) => phase === 'converting' && fs.writeFileSync('new.raw', 'of somebody else');
    const ended = await image.convert('new.raw', { onProgress }).then(() => ({}), (thrown) => thrown);
    await image.close();
    console.log(JSON.stringify({ kind: ended.kind, message: ended.message }));`,
    folder,
    images.kinds(),
  );
  expect(ended).toEqual({ kind: 'target', message: expect.stringContaining('has changed') });
  expect(readdirSync(folder)).toEqual(['new.raw']);
  expect(readFileSync(join(folder, 'new.raw'), 'utf8')).toBe('of somebody else');
});

/** More zeros than are decoded in memory. */
const ZEROS = Buffer.alloc(80 << 20);

/** An image of 1 MiB and a bit, which is no image of any format: a raw disk. */
const disk = () => Buffer.alloc((1 << 20) + 512, 'disk');

for (const before of [undefined, OLD]) {
  const what = before === undefined ? 'made' : 'changed';
  for (const [name, open] of [
    ['a disk is decoded twice', "decant.open('disk.raw.gz')"],
    ['a stream is stored', "decant.open(fs.createReadStream('disk.raw'), { inputFormat: 'raw' })"],
  ] as const) {
    test(`a file that another program has ${what} while ${name} stays`, ({ folder }) => {
      writeFileSync(join(folder, 'disk.raw'), disk());
      writeFileSync(join(folder, 'disk.raw.gz'), gzipSync(disk()));
      if (before !== undefined) writeFileSync(join(folder, 'out.vdi'), before);
      const ended = program<Ended>(
        `const fs = await import('node:fs');
        process.chdir(args[0]);
        const image = await ${open};
        const onProgress = ({ phase }) => phase === 'measuring' && fs.writeFileSync('out.vdi', 'of somebody else');
        const options = { format: 'vdi', onProgress, spool: image.info.fileSize === undefined && '.' };
        const ended = await image.convert('out.vdi', options).then(() => ({}), (thrown) => thrown);
        await image.close();
        console.log(JSON.stringify({ code: ended.code, message: ended.message }));`,
        folder,
      );
      expect(ended).toEqual({ code: 'target-changed', message: expect.stringContaining('has changed') });
      expect(readdirSync(folder)).toEqual(['disk.raw', 'disk.raw.gz', 'out.vdi']);
      expect(readFileSync(join(folder, 'out.vdi'), 'utf8')).toBe('of somebody else');
    });
  }

  test(`a file that another program has ${what} while an image is unpacked stays`, async ({ folder }) => {
    const output = join(folder, 'out.vdi');
    if (before !== undefined) writeFileSync(output, before);
    const packed = gzipSync(Buffer.concat([readFileSync(images.zlib()), ZEROS]), { level: 1 });
    const { child, ended } = startFed('convert', '-', output);
    child.stdin!.write(packed.subarray(0, -1));
    await expect.poll(() => readdirSync(folder).some((name) => name.includes('decant-spool'))).toBe(true);
    writeFileSync(output, 'of somebody else');
    child.stdin!.end(packed.subarray(-1));
    expect(await ended).toMatchObject({ status: 1, stderr: expect.stringContaining('has changed') });
    expect(readdirSync(folder)).toEqual(['out.vdi']);
    expect(readFileSync(output, 'utf8')).toBe('of somebody else');
  });
}

test('a relative output counts from the working directory of the call', ({ folder }) => {
  for (const name of ['a', 'b']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'b', 'out.raw'), 'of somebody else');
  const bmap = program<string>(
    `process.chdir(args[0] + '/a');
    const image = await decant.open(args[1]);
    const converting = image.convert('out.raw', { bmap: true });
    process.chdir(args[0] + '/b');
    const { bmap } = await converting;
    await image.close();
    console.log(JSON.stringify(bmap));`,
    folder,
    images.zlib(),
  );
  expect(bmap).toContain('<bmap');
  expect(hashFile(join(folder, 'a', 'out.raw'))).toBe(hashFile(images.raw()));
  expect(readFileSync(join(folder, 'b', 'out.raw'), 'utf8')).toBe('of somebody else');
  for (const name of ['a', 'b']) expect(readdirSync(join(folder, name))).toEqual(['out.raw']);
});

for (const { where, before, fault } of [
  { where: 'over a file', before: OLD },
  { where: 'where nothing was' },
  { where: 'where nothing was and the system has no links', fault: 'link EPERM' },
] as { where: string; before?: string; fault?: Fault }[]) {
  test(`of many conversions at once to one name, ${where}, the others are refused`, { tag: '@full' }, ({ folder }) => {
    const env = fault ? withFaults({ fault }) : process.env;
    const rounds = programIn<Record<string, number>[]>(
      env,
      `const fs = await import('node:fs');
      const [folder, path, before] = args;
      const image = await decant.open(path);
      const rounds = [];
      for (let round = 0; round < 5; round += 1) {
        const name = folder + '/out' + round;
        if (before) fs.writeFileSync(name, before);
        const ends = {};
        const end = (key) => { ends[key] = (ends[key] ?? 0) + 1; };
        const convert = () => image.convert(name).then(() => end('done'), ({ message }) => end(message.replace(name, 'out')));
        await Promise.all(Array.from({ length: 8 }, convert));
        rounds.push(ends);
      }
      await image.close();
      console.log(JSON.stringify(rounds));`,
      ...[folder, images.kinds(), before ?? ''],
    );
    const refused = "Another conversion is writing to 'out'; wait until it has ended, or choose another output";
    for (const { done = 0, [refused]: others = 0, ...more } of rounds) {
      expect(done).toBeGreaterThan(0);
      expect([done + others, more]).toEqual([8, {}]);
    }
    expect(readdirSync(folder)).toHaveLength(5);
  });
}

test('a folder that something is mounted over is not mistaken for that', ({ folder }) => {
  const hidden = join(folder, 'hidden');
  mkdirSync(hidden);
  const convert = `'${process.execPath}' '${cli}' convert '${images.kinds()}' out.raw`;
  const script = `cd '${hidden}' && mount -t tmpfs none '${hidden}' && { ${convert}; status=$?; ls '${hidden}'; umount '${hidden}'; exit $status; }`;
  const [command, ...args] = [...sudo, 'sh', '-c', script];
  expect(run(command!, args)).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('cannot be reached by its real path'),
  });
  expect(readdirSync(hidden)).toEqual([]);
});

test('a list of extents ends when its image is closed', ({ folder }) => {
  const seen = program<string>(
    `const image = await decant.open(args[1]);
    let closed;
    const list = async () => {
      for await (const _ of image.map()) closed ??= image.close();
      return 'ended';
    };
    console.log(JSON.stringify(await list().catch(({ message }) => message)));
    await closed;`,
    folder,
    images.endless(),
  );
  expect(seen).toBe('The image was closed');
});
