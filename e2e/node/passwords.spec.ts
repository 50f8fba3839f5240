// Passwords from files, pipes and standard input, and their results.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type DecantError, type DiskImage, type Layer, open as openImage } from '../../dist/node.js';
import { cli, decant, listening, run, start } from '../support/command.js';
import { CHAIN_PASSWORDS, hashFile, images, PASSWORD } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

const opens = { status: 0, stderr: '', stdout: expect.not.stringContaining('Needed for a conversion') };
const info = (path: string) => [cli, 'info', '--password-file', path, images.luks()];

for (const [name, content, details] of [
  ['no line end', PASSWORD, FULL],
  ['a line end', `${PASSWORD}\n`, {}],
  ['a line end of Windows', `${PASSWORD}\r\n`, FULL],
] as const) {
  test(`a file with ${name}`, details, ({ folder }) => {
    const file = join(folder, 'password');
    writeFileSync(file, content);
    expect(decant(...info(file).slice(1))).toMatchObject(opens);
  });
}

for (const [name, path, details] of [
  ['standard input', '-', {}],
  ['standard input by its name', '/dev/stdin', FULL],
  ['a descriptor', '/dev/fd/0', FULL],
] as const) {
  test(`a pipe: ${name}`, details, () => {
    const command = ['-c', `printf '%s\\n' '${PASSWORD}' | exec "$@"`, 'sh', process.execPath, ...info(path)];
    expect(run('sh', command)).toMatchObject(opens);
  });
}

/** A named pipe in `folder`. */
function pipeIn(folder: string): string {
  const path = join(folder, 'fifo');
  execFileSync('mkfifo', [path]);
  return path;
}

test('a named pipe, in parts', async ({ folder }) => {
  const path = pipeIn(folder);
  const { ended } = start(...info(path).slice(1));
  // It is opened when the command has opened its end.
  const writer = await open(path, 'w');
  await writer.write(PASSWORD.slice(0, 3));
  await writer.write(PASSWORD.slice(3));
  await writer.close();
  expect(await ended).toMatchObject(opens);
});

for (const [name, write, details] of [
  ['without a writer', undefined, FULL],
  ['whose writer writes nothing', '', FULL],
  ['whose writer does not end', PASSWORD, {}],
] as const) {
  test(`Ctrl-C ends the wait for a named pipe ${name}`, details, async ({ folder }) => {
    const path = pipeIn(folder);
    const { child, ended } = start(...info(path).slice(1));
    await listening(child);
    const writer = write === undefined ? undefined : await open(path, 'w');
    if (write) await writer?.write(write);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ status: 130, stdout: '', stderr: 'decant: interrupted\n' });
    await writer?.close();
  });
}

/** Those that run in the short scope: worker/cli/secret-files.test.ts has them all. */
const SHORT = ['base top.qcow2=top', 'top', 'top middle.qcow2=base'];

// (passwords, result: a disk, or a status and a sentence)
for (const [options, expected] of [
  [['base', 'top.qcow2=top'], undefined],
  [['top.qcow2=top', 'base.qcow2=base'], undefined],
  [['top', 'base.qcow2=a=b'], undefined],
  [['top'], [1, "base.qcow2': The password is wrong"]],
  [['top.qcow2=top'], [1, "base.qcow2' is encrypted; give its password"]],
  [['base.qcow2=base'], [1, "top.qcow2' is encrypted; give its password"]],
  [
    ['top', 'middle.qcow2=base'],
    [2, /no encrypted layer 'middle.qcow2'; encrypted are '.*\/top.qcow2', '.*\/base.qcow2'/],
  ],
  [
    ['top', 'base'],
    [2, '--password-file is given twice for all layers'],
  ],
  [
    ['top.qcow2=top', 'top.qcow2=base'],
    [2, "--password-file is given twice for 'top.qcow2'"],
  ],
  [
    ['-', 'base.qcow2=-'],
    [2, 'Standard input is already the password; put the other password into a file'],
  ],
  [
    ['top', 'base.qcow2=none'],
    [1, "Could not read the password from 'none': there is no such file or folder"],
  ],
] as const) {
  test(
    `each layer has its password: ${options.join(' ')}`,
    SHORT.includes(options.join(' ')) ? {} : FULL,
    ({ folder }) => {
      const { top, base, raw } = images.lockedChain();
      for (const [name, content] of [...Object.entries(CHAIN_PASSWORDS), ['a=b', CHAIN_PASSWORDS.base]] as const)
        writeFileSync(join(folder, name), content);
      const files = options.flatMap((option) => ['--password-file', option]);
      const args = [cli, 'convert', ...files, '--with', base, top, 'out.raw'];
      const { status, stderr } = run(process.execPath, args, { cwd: folder });
      if (!expected) {
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        expect(hashFile(join(folder, 'out.raw'))).toBe(hashFile(raw));
        return;
      }
      expect({ status, stderr }).toEqual({ status: expected[0], stderr: expect.stringMatching(expected[1]) });
      expect(existsSync(join(folder, 'out.raw'))).toBe(false);
    },
  );
}

/** The password of a layer of `lockedChain`. */
const right = ({ name }: Layer) => (name.endsWith('top.qcow2') ? CHAIN_PASSWORDS.top : CHAIN_PASSWORDS.base);

/** Opens `lockedChain` with `password`, which is told how often it was called; `names` are the layers of the calls. */
async function openChain(password: (layer: Layer, call: number) => unknown) {
  const { top, base } = images.lockedChain();
  const names: string[] = [];
  const asked = (layer: Layer) => password(layer, names.push(layer.name.split('/').at(-1)!));
  const image = (await openImage(top, { companions: [base], password: asked as typeof right })) as DiskImage;
  return { image, names };
}

const asleep = (): never => {
  throw new Error('asleep');
};

// (what the function does, the names that it is called with, how unlocking ends)
for (const [name, password, names, ended] of [
  ['returns a string', right, ['top.qcow2', 'base.qcow2'], 'unlocked'],
  [
    'returns a promise of bytes',
    async (layer) => new TextEncoder().encode(right(layer)),
    ['top.qcow2', 'base.qcow2'],
    'unlocked',
  ],
  ['is wrong about the first layer', () => 'wrong', ['top.qcow2'], 'password: The password is wrong'],
  ['returns undefined', () => undefined, ['top.qcow2'], /^password: '.*top.qcow2' is encrypted; give its password/],
  ['throws', asleep, ['top.qcow2'], /^password: .*asleep \(asleep\)$/],
  ['rejects', async () => asleep(), ['top.qcow2'], /^password: .*asleep \(asleep\)$/],
  ['returns a number', () => 7, ['top.qcow2'], /^usage: /],
] satisfies [string, (layer: Layer) => unknown, string[], string | RegExp][]) {
  test(`a function that ${name}`, async () => {
    const { image, names: asked } = await openChain(password);
    const told = ({ kind, message, cause }: DecantError) =>
      `${kind}: ${message}${cause ? ` (${(cause as Error).message})` : ''}`;
    const unlocked = await image.unlock().then(() => 'unlocked', told);
    await image.close();
    expect(asked).toEqual(names);
    expect(unlocked).toMatch(ended);
  });
}

test('after a failure the function is called again for that layer', async () => {
  const { image, names } = await openChain((layer, call) => (call === 2 ? undefined : right(layer)));
  await expect(image.unlock()).rejects.toMatchObject({ kind: 'password' });
  await image.unlock();
  await image.unlock();
  await image.close();
  expect(names).toEqual(['top.qcow2', 'base.qcow2', 'base.qcow2']);
});

for (const user of ['password', 'onProgress']) {
  test(`${user} may use the image: what needs the keys waits for the unlocking under way`, async () => {
    let read: Promise<Uint8Array> | undefined;
    let calls = 0;
    const use = (name: string) => {
      if (name === user) read ??= image.read(0, 512);
    };
    const password = () => {
      calls += 1;
      use('password');
      return PASSWORD;
    };
    const image = (await openImage(images.luks(), { password })) as DiskImage;
    await image.unlock({ onProgress: () => use('onProgress') });
    const { length } = (await read)!;
    await image.close();
    expect({ calls, length }).toEqual({ calls: 1, length: 512 });
  });
}

test("a caller's password stays the caller's", async () => {
  const password = Buffer.from(PASSWORD);
  const image = (await openImage(images.luks(), { password })) as DiskImage;
  await image.unlock();
  await image.close();
  expect(password.toString()).toBe(PASSWORD);
});

test('what an image is stays as it was; an unlocked image has another info', async () => {
  const image = (await openImage(images.luks(), { password: PASSWORD })) as DiskImage;
  const { info, formats, disks } = image;
  const before = structuredClone(info);
  expect(() => Object.assign(info.needs, { length: 0 })).toThrow(TypeError);
  expect([info, info.needs, info.layers[0], formats, formats[0], disks].every(Object.isFrozen)).toBe(true);
  await image.read(0, 512);
  expect(info).toEqual(before);
  expect(image.info).toEqual({ ...before, needs: [] });
  expect(Object.isFrozen(image.info.needs)).toBe(true);
  const { info: after } = image;
  await image.read(0, 512);
  expect(image.info).toBe(after);
  await image.close();
});
