// The image, or a companion, as the target: refused under every name, and unchanged.

import { copyFileSync, linkSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asRoot, cli, run, sudo } from '../support/command.js';
import { hashFile, images } from '../support/images.js';
import { expect, test } from '../support/node.js';

/** Undoes a test's changes to the system, the last first. */
const undo: (() => void)[] = [];
test.afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

function mount(target: string, ...args: string[]): void {
  mkdirSync(target, { recursive: true });
  asRoot('mount', ...args, target);
  undo.push(() => asRoot('umount', target));
}

function loopDevice(file: string): string {
  const device = asRoot('losetup', '--find', '--show', file);
  undo.push(() => asRoot('losetup', '--detach', device));
  if (sudo.length > 0) asRoot('chmod', '666', device);
  return device;
}

/** Other names of `file`, which is in `folder/images`; each returns the path to use as the output. */
const NAMES: { [name: string]: (folder: string, file: string) => string } = {
  'its own name': (_, file) => join('images', file),
  'a hard link': (folder, file) => {
    linkSync(join(folder, 'images', file), join(folder, 'hard'));
    return 'hard';
  },
  'a link to a link': (folder, file) => {
    symlinkSync(`images/${file}`, join(folder, 'soft'));
    symlinkSync('soft', join(folder, 'softer'));
    return 'softer';
  },
  'a linked folder': (folder, file) => {
    mkdirSync(join(folder, 'other'));
    symlinkSync('../images', join(folder, 'other', 'link'));
    return `other/link/${file}`;
  },
  'a bind mount of its folder': (folder, file) => {
    mount(join(folder, 'mounted'), '--bind', join(folder, 'images'));
    return `mounted/${file}`;
  },
  'a bind mount of the file': (folder, file) => {
    const target = join(folder, 'mounted');
    writeFileSync(target, '');
    asRoot('mount', '--bind', join(folder, 'images', file), target);
    undo.push(() => asRoot('umount', target));
    return 'mounted';
  },
  'an overlay over its folder': (folder, file) => {
    // The file system below that of the tests may be an overlay, which cannot be a layer itself.
    mount(join(folder, 'disk'), '-t', 'tmpfs', 'tmpfs');
    for (const name of ['upper', 'lower', 'work']) asRoot('mkdir', '-m', '777', join(folder, 'disk', name));
    asRoot('cp', '-a', `${folder}/images/.`, join(folder, 'disk', 'upper'));
    mount(join(folder, 'images'), '--bind', join(folder, 'disk', 'upper'));
    const layers = ['lower', 'upper', 'work'].map((name) => `${name}dir=${folder}/disk/${name}`);
    mount(join(folder, 'merged'), '-t', 'overlay', '-o', layers.join(), 'overlay');
    return `merged/${file}`;
  },
  'a descriptor in /proc': () => '/proc/self/fd/3',
  'a descriptor in /dev': () => '/dev/fd/3',
  'standard input': () => '/dev/stdin',
  'a device over it': (folder, file) => loopDevice(join(folder, 'images', file)),
  'a link to a device over it': (folder, file) => {
    symlinkSync(loopDevice(join(folder, 'images', file)), join(folder, 'device'));
    return 'device';
  },
  'a device over a device over it': (folder, file) => loopDevice(loopDevice(join(folder, 'images', file))),
};

/** Those of which none stands for another, in all scopes. */
const UNLIKE = {
  'top.qcow2': [
    'a bind mount of its folder',
    'an overlay over its folder',
    'a descriptor in /proc',
    'a device over it',
  ],
  'base.qcow2': ['a linked folder'],
};

for (const [file, said] of [
  ['top.qcow2', 'is the image itself'],
  ['base.qcow2', 'is a file that the image needs'],
] as const) {
  for (const [name, make] of Object.entries(NAMES)) {
    const tag = UNLIKE[file].includes(name) ? [] : '@full';
    test(`${file} is no target by ${name}`, { tag }, ({ folder }) => {
      const { top, below } = images.chain();
      mkdirSync(join(folder, 'images'));
      for (const path of [top, ...below]) copyFileSync(path, join(folder, 'images', path.split('/').at(-1)!));
      const path = join(folder, 'images', file);
      const output = make(folder, file);
      const before = hashFile(path);
      const companions = ['middle', 'base'].flatMap((layer) => ['--with', `images/${layer}.qcow2`]);
      const args = [process.execPath, cli, 'convert', '-O', 'raw', ...companions, 'images/top.qcow2', output];
      const result = run('sh', ['-c', `exec "$@" 3< 'images/${file}' 0< 'images/${file}'`, 'sh', ...args], {
        cwd: folder,
      });
      expect(result).toMatchObject({ status: 2, stderr: expect.stringContaining(said) });
      expect(hashFile(path)).toBe(before);
      expect(readdirSync(join(folder, 'images')).toSorted()).toEqual(['base.qcow2', 'middle.qcow2', 'top.qcow2']);
    });
  }
}

test('a file on a file system inside the image is refused as the target', ({ folder }) => {
  const image = join(folder, 'image.raw');
  writeFileSync(image, '');
  truncateSync(image, 16 << 20);
  run('/sbin/mkfs.ext4', ['-q', image]);
  mount(join(folder, 'mounted'), '-o', 'loop', image);
  if (sudo.length > 0) asRoot('chmod', '777', join(folder, 'mounted'));
  const before = readdirSync(join(folder, 'mounted'));
  const result = run(process.execPath, [cli, 'convert', '-f', 'raw', image, join(folder, 'mounted', 'out.raw')]);
  expect(result).toMatchObject({ status: 2, stderr: expect.stringContaining('is the image itself') });
  expect(readdirSync(join(folder, 'mounted'))).toEqual(before);
});

test('a device over the image is refused as standard output', { tag: '@full' }, ({ folder }) => {
  const image = join(folder, 'image.qcow2');
  copyFileSync(images.kinds(), image);
  const before = hashFile(image);
  for (const device of [loopDevice(image), loopDevice(loopDevice(image))]) {
    const result = run('sh', ['-c', `exec "$@" > '${device}'`, 'sh', process.execPath, cli, 'convert', image, '-']);
    expect(result).toMatchObject({ status: 2, stderr: expect.stringContaining('an input of the command') });
    expect(hashFile(image)).toBe(before);
  }
});
