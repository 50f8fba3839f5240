// The bmap beside a raw output: bmaptool reads it, and copies the disk by it.

import { existsSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decant, program, run } from '../support/command.js';
import { images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const MIB = 2 ** 20;

// (image, more options)
for (const [image, options, tag] of [
  ['zlib', [], []],
  ['kinds', ['--size', '1G'], ['@full']],
] as const) {
  test(`bmaptool copies ${image} ${options.join(' ')} by its bmap`, { tag: [...tag] }, ({ folder }) => {
    const [raw, bmap, copy] = ['disk.raw', 'disk.bmap', 'copy.raw'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const path = images[image]();
    expect(decant('convert', ...options, '--bmap', bmap, path, raw)).toMatchObject({ status: 0, stderr: '' });
    const copied = run('bmaptool', ['copy', '--bmap', bmap, raw, copy]);
    expect(copied).toMatchObject({ status: 0 });
    qemuImg('compare', '-f', 'raw', '-F', 'raw', raw, copy);
    // Only a part of the disk is copied.
    const text = readFileSync(bmap, 'latin1');
    const [blocks, mapped] = ['BlocksCount', 'MappedBlocksCount'].map((name) =>
      Number(new RegExp(`<${name}> (\\d+) <`).exec(text)![1]),
    );
    expect(mapped).toBeLessThan(blocks!);
    // Each range has a checksum.
    const bytes = readFileSync(raw);
    bytes[0]! ^= 1;
    writeFileSync(raw, bytes);
    expect(run('bmaptool', ['copy', '--bmap', bmap, raw, copy]).status).not.toBe(0);
  });
}

test('all of a stream is data, and the moved GPT of a larger disk, too', FULL, ({ folder }) => {
  const disk = join(folder, 'disk.raw');
  writeFileSync(disk, '');
  truncateSync(disk, 32 * MIB);
  const script =
    "sfdisk -q disk.raw <<< 'label: gpt'; qemu-img convert -f raw -O qcow2 disk.raw disk.qcow2; gzip disk.raw";
  expect(run('bash', ['-e', '-c', script], { cwd: folder })).toMatchObject({ status: 0 });
  const raw = join(folder, 'out.raw');
  const rangesOf = (image: string) => {
    const bmap = join(folder, `${image}.bmap`);
    const made = decant('convert', '--size', '40M', '--fix-gpt', '--bmap', bmap, join(folder, image), raw);
    expect(made.status).toBe(0);
    expect(run('bmaptool', ['copy', '--bmap', bmap, raw, join(folder, 'copy')]).status).toBe(0);
    return [...readFileSync(bmap, 'latin1').matchAll(/> (\d+-?\d*) <\/Range>/g)].map(([, range]) => range);
  };
  expect(rangesOf('disk.raw.gz')).toEqual(['0-10239']);
  const ranges = rangesOf('disk.qcow2');
  expect(ranges[0]).toMatch(/^0-/);
  // 33 sectors at the end.
  expect(ranges.at(-1)).toBe('10235-10239');
});

test('in the API; refused for other formats and targets', ({ folder }) => {
  const found = program<{ text: string; messages: string[] }>(
    `const image = await decant.open(args[0]);
     const { bmap } = await image.convert(args[1], { bmap: true });
     const messages = [];
     for (const [output, options] of [[args[1], { format: 'qcow2' }], [new WritableStream(), {}]]) {
       await image.convert(output, { bmap: true, ...options }).catch(({ message }) => messages.push(message));
     }
     await image.close();
     console.log(JSON.stringify({ text: bmap, messages }));`,
    images.zlib(),
    join(folder, 'a.raw'),
  );
  expect(found.text).toMatch(/^<\?xml version="1.0" \?>\n<bmap version="2.0">\n/);
  expect(found.messages).toEqual([
    "'bmap' needs a raw disk as the output (format 'raw')",
    "'bmap' needs a file, not a stream or a custom target",
  ]);
  const [output, bmap] = [join(folder, 'b.qcow2'), join(folder, 'b.bmap')];
  expect(decant('convert', '--bmap', bmap, images.zlib(), output)).toMatchObject({ status: 2 });
  expect(existsSync(output) || existsSync(bmap)).toBe(false);
});

test('replaces no file, and follows no link', ({ folder }) => {
  const [kept, link, output] = ['kept', 'link', 'b.raw'].map((name) => join(folder, name)) as [string, string, string];
  writeFileSync(kept, 'a file of the user');
  symlinkSync(join(folder, 'none'), link);
  for (const bmap of [kept, link]) {
    const { status, stderr } = decant('convert', '--bmap', bmap, images.zlib(), output);
    expect(stderr).toContain('already exists');
    expect(status).toBe(1);
    expect(existsSync(output)).toBe(false);
  }
  expect(readFileSync(kept, 'latin1')).toBe('a file of the user');
});
