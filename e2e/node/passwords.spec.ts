// Where a password comes from: files, pipes, standard input; and what becomes of it.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, decant, listening, program, run, start, startProgram } from '../support/command.js';
import { hashFile, images, PASSWORD } from '../support/images.js';
import { expect, test } from '../support/node.js';

const opens = { status: 0, stderr: '', stdout: expect.not.stringContaining('Needed for a conversion') };
const info = (path: string) => [cli, 'info', '--password-file', path, images.luks()];

for (const [name, content] of [
  ['no line end', PASSWORD],
  ['a line end', `${PASSWORD}\n`],
  ['a line end of Windows', `${PASSWORD}\r\n`],
]) {
  test(`a file with ${name}`, ({ folder }) => {
    const file = join(folder, 'password');
    writeFileSync(file, content!);
    expect(decant(...info(file).slice(1))).toMatchObject(opens);
  });
}

for (const [name, path] of [
  ['standard input', '-'],
  ['standard input by its name', '/dev/stdin'],
  ['a descriptor', '/dev/fd/0'],
]) {
  test(`a pipe: ${name}`, () => {
    const command = ['-c', `printf '%s\\n' '${PASSWORD}' | exec "$@"`, 'sh', process.execPath, ...info(path!)];
    expect(run('sh', command)).toMatchObject(opens);
  });
}

test('a named pipe, in parts', async ({ folder }) => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const { child, ended } = start(...info(fifo).slice(1));
  await listening(child);
  const parts = `exec > '${fifo}'; printf '%s' '${PASSWORD.slice(0, 3)}'; sleep 0.3; printf '%s' '${PASSWORD.slice(3)}'`;
  await startProgram('sh', ['-c', parts]).ended;
  expect(await ended).toMatchObject(opens);
});

for (const [name, writer] of [
  ['without a writer', ''],
  ['whose writer writes nothing', 'sleep 60'],
  ['whose writer does not end', `printf '${PASSWORD}'; sleep 60`],
]) {
  test(`Ctrl-C ends the wait for a named pipe ${name}`, async ({ folder }) => {
    const [fifo, opened] = [join(folder, 'fifo'), join(folder, 'opened')];
    execFileSync('mkfifo', [fifo]);
    const { child, ended } = start(...info(fifo).slice(1));
    await listening(child);
    const other = writer
      ? startProgram('sh', ['-c', `exec > '${fifo}'; : > '${opened}'; ${writer!.replace('sleep', 'exec sleep')}`])
      : undefined;
    if (other) await expect.poll(() => existsSync(opened)).toBe(true);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ status: 130, stdout: '', stderr: 'decant: interrupted\n' });
    other?.child.kill();
    await other?.ended;
  });
}

// (passwords, what comes of it: a disk, or a status and a sentence)
const { passwords } = images.lockedChain();
for (const [options, expected] of [
  [['top.qcow2=top', 'base.qcow2=base'], undefined],
  [['base', 'top.qcow2=top'], undefined],
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
    [2, 'Standard input holds one password only; put the others into files'],
  ],
  [
    ['top', 'base.qcow2=none'],
    [1, "Could not read the password from 'none': there is no such file or folder"],
  ],
] as const) {
  test(`each layer has its password: ${options.join(' ')}`, ({ folder }) => {
    const { top, base, raw } = images.lockedChain();
    for (const [name, content] of [...Object.entries(passwords), ['a=b', passwords.base]] as const)
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
  });
}

// (what the function does, the names that it is called with, how unlocking ends)
for (const [name, body, names, ended] of [
  ['returns a string', "layer.name.endsWith('top.qcow2') ? args[2] : args[3]", ['top.qcow2', 'base.qcow2'], 'unlocked'],
  [
    'returns a promise of bytes',
    "Promise.resolve(new TextEncoder().encode(layer.name.endsWith('top.qcow2') ? args[2] : args[3]))",
    ['top.qcow2', 'base.qcow2'],
    'unlocked',
  ],
  ['is wrong about the first layer', "'wrong'", ['top.qcow2'], 'password: The password is wrong'],
  ['returns undefined', 'undefined', ['top.qcow2'], /^password: '.*top.qcow2' is encrypted; give its password/],
  ['throws', "(() => { throw new Error('asleep') })()", ['top.qcow2'], /^password: .*asleep \(asleep\)$/],
  ['rejects', "Promise.reject(new Error('asleep'))", ['top.qcow2'], /^password: .*asleep \(asleep\)$/],
  ['returns a number', '7', ['top.qcow2'], /^usage: /],
] as const) {
  test(`a function that ${name}`, () => {
    const { top, base } = images.lockedChain();
    const result = program<{ names: string[]; ended: string }>(
      `const names = [];
      const password = (layer) => {
        names.push(layer.name.split('/').at(-1));
        return ${body};
      };
      const image = await decant.open(args[0], { companions: [args[1]], password });
      const told = ({ kind, message, cause }) => \`\${kind}: \${message}\${cause ? \` (\${cause.message})\` : ''}\`;
      const ended = await image.unlock().then(() => 'unlocked', told);
      await image.close();
      console.log(JSON.stringify({ names, ended }));`,
      ...[top, base, passwords.top, passwords.base],
    );
    expect(result.names).toEqual(names);
    expect(result.ended).toMatch(ended);
  });
}

test('after a failure the function is called again for that layer', () => {
  const { top, base } = images.lockedChain();
  const calls = program<string[]>(
    `const calls = [];
    const password = (layer) => {
      calls.push(layer.name.split('/').at(-1));
      if (calls.length === 2) return undefined;
      return layer.name.endsWith('top.qcow2') ? args[2] : args[3];
    };
    const image = await decant.open(args[0], { companions: [args[1]], password });
    await image.unlock().catch(() => {});
    await image.unlock();
    await image.unlock();
    await image.close();
    console.log(JSON.stringify(calls));`,
    ...[top, base, passwords.top, passwords.base],
  );
  expect(calls).toEqual(['top.qcow2', 'base.qcow2', 'base.qcow2']);
});

for (const user of ['password', 'onProgress']) {
  test(`${user} may use the image: what needs the keys waits for the unlocking under way`, () => {
    const seen = program<{ calls: number; length: number }>(
      `let image, read, calls = 0;
      const use = (user) => {
        if (user === args[2]) read ??= image.read(0, 512);
      };
      const password = () => {
        calls += 1;
        use('password');
        return args[1];
      };
      image = await decant.open(args[0], { password });
      await image.unlock({ onProgress: () => use('onProgress') });
      const { length } = await read;
      await image.close();
      console.log(JSON.stringify({ calls, length }));`,
      ...[images.luks(), PASSWORD, user],
    );
    expect(seen).toEqual({ calls: 1, length: 512 });
  });
}

test("a caller's password stays the caller's", () => {
  const password = program<string>(
    `const password = Buffer.from(args[1]);
    const image = await decant.open(args[0], { password });
    await image.unlock();
    await image.close();
    console.log(JSON.stringify(password.toString()));`,
    ...[images.luks(), PASSWORD],
  );
  expect(password).toBe(PASSWORD);
});
