// A failure of the command ends with the option that helps, where one does.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decant } from '../support/command.js';
import { images, qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';

/** A file of `content` in `folder`. */
function fileIn(folder: string, name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

/** An image of the old AES method, whose disk begins with nothing that is known; its password is `secret`. */
function oldImage(folder: string): string {
  const image = join(folder, 'old.qcow2');
  const secret = ['--object', 'secret,id=key,data=secret'];
  const options = 'encrypt.format=aes,encrypt.key-secret=key';
  qemuImg('create', '-q', ...secret, '-f', 'qcow2', '-o', options, image, '1M');
  const opened = `driver=qcow2,encrypt.key-secret=key,file.filename=${image}`;
  execFileSync('qemu-io', [...secret, '--image-opts', '-c', 'write -q -P 1 0 64k', opened]);
  return image;
}

const withPassword = (folder: string, image: string): string[] => [
  '--password-file',
  fileIn(folder, 'password', 'secret'),
  image,
];

const FAILURES: { what: string; args: (folder: string) => string[]; end: string }[] = [
  {
    what: 'a missing file',
    args: () => [images.chain().top],
    end: 'is missing; hand it over together with the image (--with FILE)',
  },
  {
    what: 'a password that is not given',
    args: () => [images.luks()],
    end: 'is encrypted; give its password (--password-file FILE)',
  },
  {
    what: 'a password of another layer only',
    args: (folder) => ['--password-file', `base.qcow2=${fileIn(folder, 'password', 'secret')}`, ...lockedChain()],
    end: 'is encrypted; give its password (--password-file FILE)',
  },
  { what: 'a wrong password', args: (folder) => withPassword(folder, images.luks()), end: 'The password is wrong' },
  {
    what: 'a password that cannot be checked',
    args: (folder) => withPassword(folder, oldImage(folder)),
    end: 'say that it is to be assumed right (--assume-password)',
  },
  {
    what: 'a file that may be a raw disk',
    args: (folder) => [fileIn(folder, 'disk.img', 'no image')],
    end: 'state the format raw (-f raw)',
  },
  {
    what: 'a file of any name',
    args: (folder) => [fileIn(folder, 'disk', 'no image')],
    end: 'it reads qcow2, vdi, vmdk, qed, raw (-f raw)',
  },
  { what: 'an empty file', args: (folder) => [fileIn(folder, 'disk.img', '')], end: 'The file is empty' },
];

const lockedChain = (): string[] => {
  const { top, base } = images.lockedChain();
  return ['--with', base, top];
};

for (const { what, args, end } of FAILURES) {
  test(`convert and map: ${what}`, ({ folder }) => {
    const given = args(folder);
    for (const [command, rest] of [
      ['convert', [join(folder, 'out.raw')]],
      ['map', []],
    ] as const) {
      const { status, stderr } = decant(command, ...given, ...rest);
      expect({ status, isOneLine: /^decant: [^\n]*\n$/.test(stderr) }, stderr).toEqual({ status: 1, isOneLine: true });
      expect(stderr.endsWith(`${end}\n`), stderr).toBe(true);
    }
  });
}

for (const [image, row] of [
  [() => images.chain().top, /^ {4}middle.qcow2, the backing file of .* \(--with FILE\)$/m],
  [images.luks, /^ {4}the password of .* \(--password-file FILE\)$/m],
] as const) {
  test(`info lists what is needed: ${row}`, () => {
    expect(decant('info', image()).stdout).toMatch(row);
  });
}
