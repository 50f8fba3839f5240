// A new file keeps owner, group and permissions of the replaced one, and never grants more.

import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asRoot, cli, program, run, sudo } from '../support/command.js';
import { withFaults } from '../support/faults.js';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

const mode = (path: string) => statSync(path).mode & 0o7777;
const owners = (path: string) => [statSync(path).uid, statSync(path).gid];

/** Users that need not exist. */
const [OWNER, GROUP, STRANGER] = [4321, 8765, 4322];

for (const { name, as, before, after, ownersAfter, tag = ['@full'] } of [
  {
    name: 'root keeps the owner and drops set-id bits',
    as: [0, 0],
    before: 0o6755,
    after: 0o755,
    ownersAfter: [OWNER, GROUP],
    tag: [],
  },
  { name: 'root keeps a private file private', as: [0, 0], before: 0o600, after: 0o600, ownersAfter: [OWNER, GROUP] },
  {
    name: 'its owner drops set-id bits',
    as: [OWNER, GROUP],
    before: 0o4775,
    after: 0o775,
    ownersAfter: [OWNER, GROUP],
  },
  {
    name: 'its owner keeps a sticky bit out',
    as: [OWNER, GROUP],
    before: 0o1640,
    after: 0o640,
    ownersAfter: [OWNER, GROUP],
  },
  {
    name: 'the owner in another group gives that group no more than others have',
    as: [OWNER, STRANGER],
    before: 0o664,
    after: 0o644,
    ownersAfter: [OWNER, STRANGER],
    tag: [],
  },
  {
    name: 'a stranger in its group keeps the group',
    as: [STRANGER, GROUP],
    before: 0o660,
    after: 0o660,
    ownersAfter: [STRANGER, GROUP],
  },
  {
    name: 'a stranger gives a group no more than others have',
    as: [STRANGER, STRANGER],
    before: 0o666,
    after: 0o666,
    ownersAfter: [STRANGER, STRANGER],
  },
]) {
  test(name, { tag: [...tag] }, ({ folder }) => {
    const target = join(folder, 'out.raw');
    chmodSync(folder, 0o777);
    writeFileSync(target, 'old');
    asRoot('chown', `${OWNER}:${GROUP}`, target);
    asRoot('chmod', before.toString(8), target);
    const [user, group] = as as [number, number];
    const identity = [`--reuid=${user}`, `--regid=${group}`, '--clear-groups'];
    // The tests may be in a folder that not everyone may read.
    const reading = ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'];
    asRoot('setpriv', ...identity, ...reading, process.execPath, cli, 'convert', images.kinds(), target);
    expect([mode(target).toString(8), ...owners(target)]).toEqual([after.toString(8), ...ownersAfter]);
    expect(statSync(target).size).toBe(10 << 20);
    if (sudo.length > 0) asRoot('rm', target);
  });
}

test(
  'nobody reads the new file who could not read the old one, not even while it is written',
  { tag: '@full' },
  ({ folder }) => {
    const target = join(folder, 'out.raw');
    writeFileSync(target, 'old');
    chmodSync(target, 0o600);
    const modes = program<string[]>(
      `const { readdirSync, statSync } = await import('node:fs');
    process.umask(0);
    const image = await decant.open(args[0]);
    const modes = new Set();
    const onProgress = ({ phase }) => {
      if (phase === 'preparing') return;
      for (const name of readdirSync(args[1])) modes.add((statSync(args[1] + '/' + name).mode & 0o7777).toString(8));
    };
    await image.convert(args[1] + '/out.raw', { onProgress });
    await image.close();
    console.log(JSON.stringify([...modes]));`,
      ...[images.kinds(), folder],
    );
    expect(modes).toEqual(['600']);
    expect(mode(target)).toBe(0o600);
  },
);

for (const call of ['fchmod', 'fchown'] as const) {
  test(
    `where ${call} is not permitted, the conversion goes on and the file is no more readable`,
    { tag: '@full' },
    ({ folder }) => {
      const target = join(folder, 'out.raw');
      writeFileSync(target, 'old');
      chmodSync(target, 0o664);
      const result = run(process.execPath, [cli, 'convert', images.kinds(), target], {
        env: withFaults({ fault: `${call} EPERM` }),
      });
      expect(result).toMatchObject({ status: 0, stderr: '' });
      // Without fchown the group is not known to be the same.
      expect(mode(target).toString(8)).toBe(call === 'fchmod' ? '600' : '644');
      expect(readdirSync(folder)).toEqual(['out.raw']);
    },
  );
}
