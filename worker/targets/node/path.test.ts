// A path as an output, with other programs that change files during a conversion: none of theirs is lost, no partial file stays.

import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openPath } from '../../sources/node/node-file.js';
import { test } from './folder.test-support.js';
import { beginTo, found, SIZE, source } from './path-target.test-support.js';

const NEW = Buffer.alloc(SIZE, 'new').toString();
const OTHER = 'of somebody else';

describe('while a file is replaced:', () => {
  interface Paths {
    output: string;
    image: string;
    precious: string;
    partial: string;
  }
  for (const [what, act, said, left] of [
    [
      'the image is renamed to the output',
      ({ image, output }) => renameSync(image, output),
      'is the image itself; choose another output',
      { output: 'image' },
    ],
    [
      'the output becomes a link',
      ({ output, precious }) => {
        unlinkSync(output);
        symlinkSync(precious, output);
      },
      'is no longer a regular file; choose another output',
      { output: 'a link' },
    ],
    [
      'the output becomes a folder',
      ({ output }) => {
        unlinkSync(output);
        mkdirSync(output);
      },
      'is no longer a regular file; choose another output',
      { output: 'a folder' },
    ],
    [
      'the output becomes another file',
      ({ output, precious }) => renameSync(precious, output),
      'has changed',
      { output: 'precious', precious: undefined },
    ],
    [
      'the output is removed and made anew',
      ({ output }) => {
        unlinkSync(output);
        writeFileSync(output, OTHER);
      },
      'has changed',
      { output: OTHER },
    ],
    ...[
      ['the output is written in place', (output: string) => writeFileSync(output, OTHER), OTHER],
      ['the output is written in place, with as many bytes', (output: string) => writeFileSync(output, 'own'), 'own'],
      [
        'the output is written in place, and gets its size and time back',
        (output: string) => {
          const { atime, mtime } = statSync(output);
          writeFileSync(output, 'own');
          utimesSync(output, atime, mtime);
        },
        'own',
      ],
      ['the output is extended', (output: string) => appendFileSync(output, 'er'), 'older'],
    ].map(([what, act, left]) => [
      what,
      ({ output }: Paths) => (act as (output: string) => void)(output),
      'has changed',
      { output: left },
    ]),
    [
      'the temporary file is removed',
      ({ partial }) => unlinkSync(partial),
      'has removed or replaced the file that was to become',
      { partial: undefined },
    ],
    [
      'the temporary file is replaced',
      ({ precious, partial }) => renameSync(precious, partial),
      'has removed or replaced the file that was to become',
      { partial: 'precious', precious: undefined },
    ],
    [
      'the temporary file is cut',
      ({ partial }) => truncateSync(partial, SIZE - 512),
      `it has ${SIZE - 512} bytes instead of ${SIZE}`,
      {},
    ],
    [
      'the temporary file is extended',
      ({ partial }) => truncateSync(partial, SIZE + 512),
      `it has ${SIZE + 512} bytes instead of ${SIZE}`,
      {},
    ],
  ] as [string, (paths: Paths) => void, string, Partial<Record<keyof Paths, string | undefined>>][]) {
    test(what, async ({ folder }) => {
      const [output, image, precious] = ['out.raw', 'image', 'precious'].map((name) => join(folder, name)) as [
        string,
        string,
        string,
      ];
      writeFileSync(output, 'old');
      // A time that utimes can restore.
      utimesSync(output, 1, 1);
      writeFileSync(precious, 'precious');
      const sources = [source(image)];
      const { file, commit } = await beginTo(output, { sources });
      const partial = file.path.toString();
      act({ output, image, precious, partial });
      await expect(commit()).rejects.toMatchObject({ message: expect.stringContaining(said) });
      const expected = { output: 'old', precious: 'precious', partial: undefined, ...left };
      expect({ output: found(output), precious: found(precious), partial: found(partial) }).toEqual(expected);
    });
  }

  for (const [what, isMadeAgain] of [
    ['its folder is moved', false],
    ['its folder is moved, and another one takes its place', true],
  ] as const) {
    test(what, async ({ folder }) => {
      const [before, after] = [join(folder, 'before'), join(folder, 'after')];
      mkdirSync(before);
      const { commit } = await beginTo(join(before, 'out.raw'));
      renameSync(before, after);
      if (isMadeAgain) mkdirSync(before);
      await expect(commit()).rejects.toMatchObject({
        code: 'place-gone',
        message: expect.stringContaining('A partial file may be left in it'),
      });
      expect(existsSync(before) && readdirSync(before).length > 0).toBe(false);
      // The next conversion there removes what is left.
      const { commit: commitNext } = await beginTo(join(after, 'out.raw'));
      await commitNext();
    });
  }

  for (const end of ['', '/', '/.']) {
    test(`nothing, but the path is a folder: ${end}`, async ({ folder }) => {
      const message = `'${folder}${end}' is a folder; choose a file`;
      await expect(beginTo(`${folder}${end}`)).rejects.toMatchObject({ kind: 'usage', message });
    });
  }

  test('nothing: the new file is there, and nothing else', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    writeFileSync(output, 'old');
    const { commit } = await beginTo(output);
    await commit();
    expect(found(output)).toBe(NEW);
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  test('it gets a second hard link, as by a backup', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    writeFileSync(output, 'old');
    const { commit } = await beginTo(output);
    linkSync(output, join(folder, 'backup'));
    await commit();
    expect([found(output), found(join(folder, 'backup'))]).toEqual([NEW, 'old']);
  });

  test('it is cancelled', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    writeFileSync(output, 'old');
    const { cancel } = await beginTo(output);
    await cancel();
    expect(found(output)).toBe('old');
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });
});

describe('a link that is changed during the conversion fails it:', () => {
  const point = (link: string, to: string) => {
    unlinkSync(link);
    symlinkSync(to, link);
  };
  for (const [what, name, act] of [
    ['to another file', 'link', (folder) => point(join(folder, 'link'), 'other/out.raw')],
    ['to nothing', 'link', (folder) => point(join(folder, 'link'), 'nothing')],
    ['to a missing folder', 'link', (folder) => point(join(folder, 'link'), 'missing/out.raw')],
    ['in a circle', 'link', (folder) => point(join(folder, 'link'), 'link')],
    ['a link to it', 'link-to-link', (folder) => point(join(folder, 'link'), 'other/out.raw')],
    ['its folder', 'folder-link/out.raw', (folder) => point(join(folder, 'folder-link'), 'other')],
    [
      'it becomes the file itself',
      'link',
      (folder) => {
        unlinkSync(join(folder, 'link'));
        writeFileSync(join(folder, 'link'), OTHER);
      },
    ],
  ] as [string, string, (folder: string) => void][]) {
    for (const [how, options] of [
      ['over a file', {}],
      ['as a new file', {}],
      ['in place', { existing: true, keepsSize: true }],
    ] as const) {
      test(`${what}, ${how}`, async ({ folder }) => {
        for (const name of ['old', 'other']) mkdirSync(join(folder, name));
        const before = how === 'as a new file' ? undefined : Buffer.alloc(SIZE, 'old').toString();
        if (before !== undefined) writeFileSync(join(folder, 'old', 'out.raw'), before);
        writeFileSync(join(folder, 'other', 'out.raw'), OTHER);
        symlinkSync('old/out.raw', join(folder, 'link'));
        symlinkSync('link', join(folder, 'link-to-link'));
        symlinkSync('old', join(folder, 'folder-link'));
        const { commit } = await beginTo(join(folder, name), options);
        act(folder);
        const error = {
          kind: 'target',
          code: 'target-changed',
          message: expect.stringContaining('leads to another file'),
        };
        await expect(commit()).rejects.toMatchObject(error);
        const left = how === 'in place' ? NEW : before;
        expect([found(join(folder, 'old', 'out.raw')), found(join(folder, 'other', 'out.raw'))]).toEqual([left, OTHER]);
        expect(readdirSync(join(folder, 'old'))).toEqual(left === undefined ? [] : ['out.raw']);
      });
    }
  }

  test('but not if it leads to the same file, or if the working directory changes', async ({ folder }) => {
    for (const name of ['old', 'other']) mkdirSync(join(folder, name));
    symlinkSync('old/out.raw', join(folder, 'link'));
    const before = process.cwd();
    try {
      process.chdir(folder);
      const { commit } = await beginTo('link');
      point(join(folder, 'link'), join(folder, 'other/../old/out.raw'));
      process.chdir(join(folder, 'other'));
      await commit();
    } finally {
      process.chdir(before);
    }
    expect(found(join(folder, 'old', 'out.raw'))).toBe(NEW);
  });
});

describe('while a new file is created:', () => {
  test('another program makes one under its name', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const { commit } = await beginTo(output);
    writeFileSync(output, OTHER);
    await expect(commit()).rejects.toMatchObject({ kind: 'target', message: expect.stringContaining('has changed') });
    expect(found(output)).toBe(OTHER);
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  test('another program makes a link under its name, to nothing', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const { commit } = await beginTo(output);
    symlinkSync('nothing', output);
    await expect(commit()).rejects.toMatchObject({ message: expect.stringContaining('is no longer a regular file') });
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });

  test('the umask applies, and the temporary file has another name', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const { file, commit } = await beginTo(output);
    expect(existsSync(output)).toBe(false);
    await commit();
    expect(existsSync(file.path.toString())).toBe(false);
    expect(statSync(output).mode & 0o777).toBe(0o666 & ~process.umask());
  });
});

describe('of many conversions at once to one name one is done', () => {
  for (const before of [undefined, 'old']) {
    test(before === undefined ? 'to a new file' : 'over a file', async ({ folder }) => {
      const output = join(folder, 'out.raw');
      if (before !== undefined) writeFileSync(output, before);
      const begun = await Promise.allSettled(Array.from({ length: 8 }, () => beginTo(output)));
      const failures = begun.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      expect(failures).toHaveLength(7);
      for (const failure of failures) expect(failure).toMatchObject({ kind: 'usage', code: 'output-in-use' });
      for (const one of begun) if (one.status === 'fulfilled') await one.value.commit();
      expect(found(output)).toBe(NEW);
      expect(readdirSync(folder)).toEqual(['out.raw']);
    });
  }
});

describe('a second conversion to an output fails at its start', () => {
  const linked = (folder: string, make: (from: string, to: string) => void) => {
    const output = join(folder, 'out.raw');
    writeFileSync(output, 'old');
    make(output, join(folder, 'link'));
    return [output, join(folder, 'link')] as const;
  };
  for (const [what, paths] of [
    ['the same path', (folder) => [join(folder, 'out.raw'), join(folder, 'out.raw')]],
    ['another spelling', (folder) => [join(folder, 'out.raw'), `${folder}/./x/..//out.raw`]],
    [
      'a link to a new file',
      (folder) => {
        symlinkSync('out.raw', join(folder, 'link'));
        return [join(folder, 'out.raw'), join(folder, 'link')];
      },
    ],
    ['a link to a file', (folder) => linked(folder, symlinkSync)],
    ['a hard link to a file', (folder) => linked(folder, linkSync)],
    [
      'a link to the folder',
      (folder) => {
        symlinkSync('.', join(folder, 'also'));
        return [join(folder, 'out.raw'), join(folder, 'also', 'out.raw')];
      },
    ],
  ] as [what: string, paths: (folder: string) => readonly [string, string]][]) {
    test(what, async ({ folder }) => {
      mkdirSync(join(folder, 'x'));
      const [first, second] = paths(folder);
      const one = await beginTo(first);
      await expect(beginTo(second)).rejects.toMatchObject({
        code: 'output-in-use',
        message: expect.stringContaining(second),
      });
      await one.commit();
      expect(found(first)).toBe(NEW);
      // It is free again, after a commit and after a cancel.
      await (await beginTo(second)).cancel();
      await (await beginTo(second)).commit();
    });
  }

  test('but not one to another name', async ({ folder }) => {
    const both = [await beginTo(join(folder, 'a')), await beginTo(join(folder, 'b'))];
    for (const { commit } of both) await commit();
  });

  for (const existing of [false, true]) {
    test(`a file that is written in place, then ${existing ? 'in place' : 'replaced'}`, async ({ folder }) => {
      const output = join(folder, 'out.raw');
      writeFileSync(output, Buffer.alloc(SIZE));
      const one = await beginTo(output, { existing: true, keepsSize: true });
      await expect(beginTo(output, { existing })).rejects.toMatchObject({ code: 'output-in-use' });
      await one.commit();
    });
  }
});

describe('the image, or a companion, as the output', () => {
  for (const [what, name] of [
    ['its own name', (path: string) => path],
    [
      'a hard link',
      (path: string) => {
        linkSync(path, `${path}.hard`);
        return `${path}.hard`;
      },
    ],
    [
      'a link to a link',
      (path: string) => {
        symlinkSync(path, `${path}.soft`);
        symlinkSync(`${path}.soft`, `${path}.softer`);
        return `${path}.softer`;
      },
    ],
  ] as const) {
    test(`is refused by ${what}`, async ({ folder }) => {
      const sources = ['top', 'base'].map((file) => source(join(folder, file), file));
      for (const [file, said] of [
        ['top', 'is the image itself; choose another output'],
        ['base', 'is a file that the image needs; choose another output'],
      ] as const) {
        const output = name(join(folder, file));
        await expect(beginTo(output, { sources })).rejects.toMatchObject({
          kind: 'usage',
          message: `'${output}' ${said}`,
        });
        expect(readFileSync(join(folder, file), 'utf8')).toBe(file);
      }
      expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
    });
  }

  test('a copy of it is another file', async ({ folder }) => {
    const sources = [source(join(folder, 'image'))];
    const output = join(folder, 'copy');
    writeFileSync(output, 'image');
    await (await beginTo(output, { sources })).commit();
    expect(found(output)).toBe(NEW);
  });
});

test('the image and the output stay, whatever their names are', async ({ folder }) => {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replace(/[^0-9a-f]/g, '');
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0];
  // Names of temporary files of dead processes.
  const [image, output, left] = ['image', 'output', 'left'].map((name) =>
    join(folder, `.${name}.${boot}-${namespace}-${2 ** 22 + 1}-7-0123456789abcdef.partial`),
  ) as [string, string, string];
  writeFileSync(image, 'image');
  const opened = await openPath(image);
  writeFileSync(output, 'old');
  writeFileSync(left, 'left');
  const { commit } = await beginTo(output, { sources: [opened.spec] });
  expect([image, output, left].map(found)).toEqual(['image', 'old', undefined]);
  await commit();
  expect([image, output].map(found)).toEqual(['image', NEW]);
  await opened.close();
});

describe('a conversion with resume', () => {
  test('saves progress, resumes it, and leaves nothing at its end', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const first = await beginTo(output, { identity: 'it' });
    expect(first.target.resumePoint).toBeUndefined();
    expect(statSync(first.file.path.toString()).mode & 0o777).toBe(0o600);
    first.target.settled({ guest: 4096, written: 4096 });
    await expect(first.cancel(true)).rejects.toMatchObject({ message: /^progress was saved/ });
    expect(existsSync(output)).toBe(false);
    const second = await beginTo(output, { identity: 'it' });
    expect(second.target.resumePoint).toEqual({ guest: 4096, written: 4096 });
    await second.commit();
    expect(found(output)).toBe(NEW);
    expect(readdirSync(folder)).toEqual(['out.raw']);
    expect(statSync(output).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  test('keeps nothing without progress, or if it is not asked to', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    await (await beginTo(output, { identity: 'it' })).cancel(true);
    expect(readdirSync(folder)).toEqual([]);
    const first = await beginTo(output, { identity: 'it' });
    first.target.settled({ guest: 4096, written: 4096 });
    await first.cancel(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('of another image starts from the beginning, beside the saved progress', async ({ folder }) => {
    const output = join(folder, 'out.raw');
    const first = await beginTo(output, { identity: 'it' });
    first.target.settled({ guest: 4096, written: 4096 });
    await first.cancel(true).catch(() => {});
    const second = await beginTo(output, { identity: 'another' });
    expect(second.target.resumePoint).toBeUndefined();
    expect((await second.target.savedProgress('it')).guestDone).toBe(4096);
    await second.commit();
    // The target is complete: files that were left for it are removed.
    expect(readdirSync(folder)).toEqual(['out.raw']);
  });
});
