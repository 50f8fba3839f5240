// The command appends the option that helps, if any, to the sentences of the core.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { failureText } from '../../worker/cli/failure-text.js';
import { infoText } from '../../worker/cli/info-report.js';
import { closing } from '../support/closing.js';
import { decant as command } from '../support/command.js';
import { images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const SECRET = 'secret';

/** A file of `content` in `folder`. */
function fileIn(folder: string, name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

/** An image of the old AES method, whose disk has an unknown start; its password is `secret`. */
function oldImage(folder: string): string {
  const image = join(folder, 'old.qcow2');
  const secret = ['--object', `secret,id=key,data=${SECRET}`];
  const options = 'encrypt.format=aes,encrypt.key-secret=key';
  qemuImg('create', '-q', ...secret, '-f', 'qcow2', '-o', options, image, '1M');
  const opened = `driver=qcow2,encrypt.key-secret=key,file.filename=${image}`;
  execFileSync('qemu-io', [...secret, '--image-opts', '-c', 'write -q -P 1 0 64k', opened]);
  return image;
}

interface Failing {
  what: string;
  image: (folder: string) => string;
  companion?: () => string;
  /** For the layer of that name, or for all. */
  password?: 'all' | 'base.qcow2';
  end: string;
  details: object;
}

const FAILURES: Failing[] = [
  {
    what: 'a missing file',
    image: () => images.chain().top,
    end: 'is missing; pass it together with the image (--with FILE)',
    details: {},
  },
  {
    what: 'a password that is not given',
    image: images.luks,
    end: 'is encrypted; give its password (--password-file FILE)',
    details: {},
  },
  {
    what: 'a password of another layer only',
    image: () => images.lockedChain().top,
    companion: () => images.lockedChain().base,
    password: 'base.qcow2',
    end: 'is encrypted; give its password (--password-file FILE)',
    details: FULL,
  },
  { what: 'a wrong password', image: images.luks, password: 'all', end: 'The password is wrong', details: FULL },
  {
    what: 'a password that cannot be checked',
    image: oldImage,
    password: 'all',
    end: 'accept it without a check (--assume-password)',
    details: FULL,
  },
  {
    what: 'a file that may be a raw disk',
    image: (folder) => fileIn(folder, 'disk.img', 'no image'),
    end: 'state the format raw (-f raw)',
    details: FULL,
  },
  {
    what: 'a file of any name that may be a raw disk, by its size',
    image: (folder) => fileIn(folder, 'disk', 'no image'.repeat(64)),
    end: 'and archives with one; if it is a raw disk, state the format raw (-f raw)',
    details: FULL,
  },
  {
    what: 'a file of any name',
    image: (folder) => fileIn(folder, 'disk', 'no image'),
    end: 'Decant reads qcow2, VDI, VMDK, QED, VHD, VHDX, Parallels, LUKS, and archives with one',
    details: FULL,
  },
  {
    what: 'an empty file',
    image: (folder) => fileIn(folder, 'disk.img', ''),
    end: "disk.img' is empty",
    details: FULL,
  },
];

for (const { what, image, companion, password, end, details } of FAILURES) {
  test(`the package, to convert and to map: ${what}`, async ({ folder }) => {
    const [path, output] = [image(folder), join(folder, 'out.raw')];
    for (const work of [
      (opened: decant.DiskImage) => opened.convert(output),
      (opened: decant.DiskImage) => opened.map().next(),
    ]) {
      const fail = async () => {
        const options = {
          companions: companion ? [companion()] : [],
          ...(password && {
            password: ({ name }: decant.Layer) => (password === 'all' || name.endsWith(password) ? SECRET : undefined),
          }),
        };
        return closing<unknown>(await decant.open(path, options), work);
      };
      const error: unknown = await fail().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(decant.DecantError);
      const text = failureText(error as decant.DecantError);
      expect(text.endsWith(end), text).toBe(true);
    }
  });

  test(`the command, to convert and to map: ${what}`, details, ({ folder }) => {
    const file = password && fileIn(folder, 'password', SECRET);
    const given = [
      ...(companion ? ['--with', companion()] : []),
      ...(file ? ['--password-file', password === 'all' ? file : `${password}=${file}`] : []),
      image(folder),
    ];
    for (const [name, rest] of [
      ['convert', [join(folder, 'out.raw')]],
      ['map', []],
    ] as const) {
      const { status, stderr } = command(name, ...given, ...rest);
      expect({ status, isOneLine: /^decant: [^\n]*\n$/.test(stderr) }, stderr).toEqual({ status: 1, isOneLine: true });
      expect(stderr.endsWith(`${end}\n`), stderr).toBe(true);
    }
  });
}

for (const [image, row, details] of [
  [() => images.chain().top, /^ {4}middle.qcow2, the backing file of .* \(--with FILE\)$/m, {}],
  [images.luks, /^ {4}the password of .* \(--password-file FILE\)$/m, FULL],
] as const) {
  test(`info lists what is needed: ${row}`, async () => {
    const lines = await closing(await decant.open(image()), ({ info }) => infoText(info, image()));
    expect(lines.join('\n')).toMatch(row);
  });

  test(`the command lists what is needed: ${row}`, details, () => {
    expect(command('info', image()).stdout).toMatch(row);
  });
}
