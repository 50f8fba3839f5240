// The output of `qemu-img info` in QEMU 7.2, and the additional lines of Decant.

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Info, Snapshot } from '../public/types.js';
import { infoJson, infoText, packedJson, packedText } from './info-report.js';

const PLAIN: Info = {
  format: 'qcow2',
  name: 'a.qcow2',
  containers: [],
  virtualSize: 2 ** 20,
  fileSize: 196_616,
  features: [],
  snapshots: [],
  references: [],
  identities: [],
  specific: {},
  layers: [],
  needs: [],
  unusedCompanions: [],
  safety: [],
};

const SNAPSHOT: Snapshot = {
  id: '1',
  name: 'first',
  date: 1_700_000_000.000_005,
  vmClock: 3723.045_678_901,
  vmStateSize: 0,
};

const NASTY = 'a\u001b[31m\nb= ‮';
const NASTY_SHOWN = 'a\\u001b[31m\\u000ab= \\u202e';

const json = async (info: Partial<Info>, path = '-') =>
  JSON.parse((await infoJson({ ...PLAIN, ...info }, path)).join('\n'));
const text = (info: Partial<Info>, path = '-') => infoText({ ...PLAIN, ...info }, path);

const zone = process.env.TZ;
beforeEach(() => {
  process.env.TZ = 'UTC';
});
afterEach(() => {
  process.env.TZ = zone;
});

describe('text', () => {
  for (const [what, info, path, lines] of [
    ['nothing special', {}, '-', []],
    ['a cluster size', { clusterSize: 65_536 }, '-', ['cluster_size: 65536']],
    ['an unclean image', { features: ['dirty'] }, '-', ['cleanly shut down: no']],
    ['another feature', { features: ['lazy refcounts'] }, '-', []],
    ['an encrypted one', { encryption: { format: 'luks' } }, '-', ['encrypted: yes']],
    [
      'a backing file beside the image',
      { references: [{ role: 'backing file', name: 'b.qcow2', fileName: 'b.qcow2' }] },
      'http://host/vm/a.qcow2',
      ['backing file: b.qcow2 (actual path: http://host/vm/b.qcow2)'],
    ],
    [
      'a backing file in the same folder',
      { references: [{ role: 'backing file', name: 'b.qcow2', fileName: 'b.qcow2', format: 'qcow2' }] },
      '-',
      ['backing file: b.qcow2', 'backing file format: qcow2'],
    ],
    [
      'a backing file by its whole path',
      { references: [{ role: 'backing file', name: '/b.qcow2', fileName: '/b.qcow2' }] },
      'http://host/vm/a.qcow2',
      ['backing file: /b.qcow2'],
    ],
    [
      'a backing file by a protocol',
      { references: [{ role: 'backing file', name: 'nbd:b', fileName: 'nbd:b' }] },
      'http://host/vm/a.qcow2',
      ['backing file: nbd:b'],
    ],
    [
      'a colon behind a folder',
      { references: [{ role: 'backing file', name: 'c/nbd:b', fileName: 'c/nbd:b' }] },
      'http://host/vm/a',
      ['backing file: c/nbd:b (actual path: http://host/vm/c/nbd:b)'],
    ],
    [
      'a parent without a name',
      { references: [{ role: 'parent', name: 'uuid', fileName: 'uuid', identity: { id: 'uuid' } }] },
      '-',
      ['parent: uuid'],
    ],
    [
      'other files',
      {
        references: [
          { role: 'data file', name: 'c', fileName: 'c' },
          { role: 'extent', name: 'd', fileName: 'd' },
        ],
      },
      '-',
      [],
    ],
    [
      'properties of the format',
      { specific: { compat: '1.1', 'lazy-refcounts': false, extents: [{ 'virtual-size': 7, format: 'SPARSE' }, {}] } },
      '-',
      [
        'Format specific information:',
        '    compat: 1.1',
        '    lazy refcounts: false',
        '    extents:',
        '        [0]:',
        '            virtual size: 7',
        '            format: SPARSE',
        '        [1]:',
      ],
    ],
  ] satisfies [string, Partial<Info>, string, string[]][]) {
    test(what, async () => {
      const head = [`image: ${path}`, 'file format: qcow2', 'virtual size: 1 MiB (1048576 bytes)'];
      expect(await text(info, path)).toEqual([...head, ...lines]);
    });
  }

  test('containers', async () => {
    const containers = [{ name: 'gzip' }, { name: 'tar', member: NASTY }];
    expect(await text({ containers })).toContain(`packed in: gzip, tar ('${NASTY_SHOWN}')`);
  });

  test('a packed image whose window is large', async () => {
    const fields = { format: 'qcow2', containers: [{ name: 'zstd' }] };
    const line = 'memory to unpack: 2 GiB';
    expect(await packedText({ ...fields, window: 2 ** 31 }, '-')).toContain(line);
    expect(await packedText(fields, '-')).not.toContain(line);
    const json = JSON.parse((await packedJson({ ...fields, window: 2 ** 31 }, '-')).join(''));
    expect(json.decant).toMatchObject({ packed: true, window: 2 ** 31 });
  });

  test('a size that is unknown until the end', async () => {
    const { virtualSize: _, ...unknown } = PLAIN;
    expect(await infoText(unknown, '-')).toContain('virtual size: unknown until its end is read');
  });

  for (const [bytes, size] of [
    [0, '0 B'],
    [512, '512 B'],
    [999, '999 B'],
    [1000, '0.977 KiB'],
    [1024, '1 KiB'],
    [65_536, '64 KiB'],
    [1_023_487, '999 KiB'],
    [1_023_488, '1e+03 KiB'],
    [1_023_999, '1e+03 KiB'],
    [1_024_000, '0.977 MiB'],
    [1_048_051_712, '1e+03 MiB'],
    [10 * 2 ** 20 + 12_345, '10 MiB'],
    [1.5 * 2 ** 30, '1.5 GiB'],
    [100 * 2 ** 30, '100 GiB'],
    [8 * 2 ** 40, '8 TiB'],
    [2 ** 53 - 512, '8 PiB'],
  ] as const) {
    test(`${bytes} bytes are ${size}`, async () => {
      expect(await text({ virtualSize: bytes })).toContain(`virtual size: ${size} (${bytes} bytes)`);
    });
  }

  test('snapshots', async () => {
    const other = { ...SNAPSHOT, id: '23', name: NASTY, vmStateSize: 2 ** 30, icount: 42, vmClock: 0 };
    expect((await text({ snapshots: [SNAPSHOT, other] })).slice(3)).toEqual([
      'Snapshot list:',
      'ID        TAG               VM SIZE                DATE     VM CLOCK     ICOUNT',
      '1         first                 0 B 2023-11-14 22:13:20 01:02:03.045           ',
      `23        ${NASTY_SHOWN}   1 GiB 2023-11-14 22:13:20 00:00:00.000         42`,
    ]);
  });

  test('a date is that of the local time', async () => {
    process.env.TZ = 'Asia/Tokyo';
    expect((await text({ snapshots: [SNAPSHOT] })).at(-1)).toContain('2023-11-15 07:13:20');
  });

  test('layers, needs, companions, and warnings', async () => {
    const layer = { format: 'raw', guessed: false, virtualSize: 1 };
    const info: Partial<Info> = {
      layers: [
        { ...layer, name: 'a', format: 'qcow2' },
        { ...layer, name: NASTY, guessed: true },
      ],
      needs: [
        { kind: 'password', of: 'a' },
        { kind: 'missing-file', role: 'backing file', name: NASTY, fileName: NASTY, of: 'a' },
      ],
      unusedCompanions: ['c', NASTY],
      safety: [{ code: 'guessed', fields: {}, message: 'it is read as raw' }],
    };
    expect((await text(info)).slice(3)).toEqual([
      'Layers:',
      '    a (qcow2)',
      `    ${NASTY_SHOWN} (raw, guessed)`,
      'Needed for a conversion:',
      '    the password of a (--password-file FILE)',
      `    ${NASTY_SHOWN}, the backing file of a (--with FILE)`,
      'Unused files:',
      '    c',
      `    ${NASTY_SHOWN}`,
      'Warnings:',
      '    it is read as raw',
    ]);
    expect(await text({ layers: info.layers!.slice(0, 1) })).toHaveLength(3);
  });

  test('foreign texts are escaped and cut', async () => {
    const long = 'x'.repeat(1 << 20);
    for (const name of [NASTY, long, '\n'.repeat(1023)]) {
      const lines = await text({
        references: [{ role: 'backing file', name, fileName: name, format: name }],
        specific: { name, list: [name] },
        containers: [{ name: 'tar', member: name }],
        snapshots: [{ ...SNAPSHOT, id: name, name }],
        needs: [{ kind: 'password', of: name }],
        unusedCompanions: [name],
        layers: [PLAIN, PLAIN].map(() => ({ name, format: 'raw', guessed: false, virtualSize: 1 })),
      });
      // A hostile name adds no lines.
      expect(lines).toHaveLength(20);
      expect(lines.filter((line) => line.length > 1020 || /\p{Cc}|\u202e/u.test(line))).toEqual([]);
    }
  });
});

describe('JSON', () => {
  const own = {
    'file-size': PLAIN.fileSize,
    containers: [],
    features: [],
    layers: [],
    needs: [],
    'unused-companions': [],
    safety: [],
  };

  test('nothing special', async () => {
    expect(await json({})).toEqual({
      'virtual-size': 2 ** 20,
      filename: '-',
      format: 'qcow2',
      'dirty-flag': false,
      decant: own,
    });
  });

  test('everything', async () => {
    const layer = { name: 'a', format: 'qcow2', guessed: false };
    const info = await json(
      {
        clusterSize: 512,
        features: ['dirty'],
        encryption: { format: 'aes' },
        specific: { compat: '1.1' },
        references: [{ role: 'backing file', name: NASTY, fileName: NASTY, format: 'raw' }],
        snapshots: [SNAPSHOT, { ...SNAPSHOT, icount: 42 }],
        layers: [{ ...layer, virtualSize: 7 }],
      },
      'http://host/a',
    );
    const snapshot = {
      id: '1',
      name: 'first',
      'date-sec': 1_700_000_000,
      'date-nsec': 5000,
      'vm-clock-sec': 3723,
      'vm-clock-nsec': 45_678_901,
      'vm-state-size': 0,
    };
    expect(info).toEqual({
      'backing-filename-format': 'raw',
      snapshots: [snapshot, { ...snapshot, icount: 42 }],
      'virtual-size': 2 ** 20,
      filename: 'http://host/a',
      'cluster-size': 512,
      format: 'qcow2',
      'format-specific': { type: 'qcow2', data: { compat: '1.1' } },
      'full-backing-filename': `http://host/${NASTY}`,
      'backing-filename': NASTY,
      encrypted: true,
      'dirty-flag': true,
      decant: { ...own, features: ['dirty'], layers: [{ ...layer, 'virtual-size': 7 }] },
    });
  });

  test('addresses are whole, but for user, password and query', async () => {
    const long = `https://host/${'a'.repeat(300)}/b.qcow2`;
    const secret = long.replace('host', 'me:SECRET@host').concat('?sig=SECRET');
    for (const [name, shown] of [
      [long, long],
      [secret, long],
      [`json:{"file.url":"${secret}"}`, `json:{"file.url":"${long}"}`],
      ['/vm/b.qcow2?sig=1', '/vm/b.qcow2?sig=1'],
    ] as const) {
      const info = await json({
        references: [{ role: 'backing file', name, fileName: 'b.qcow2' }],
        needs: [{ kind: 'missing-file', role: 'backing file', name, fileName: 'b.qcow2', of: 'a.qcow2' }],
        safety: [{ code: 'backing-file', fields: { file: name }, message: 'm' }],
        specific: { 'data-file': name },
      });
      expect(info).toMatchObject({ 'backing-filename': shown, 'full-backing-filename': shown });
      expect(info.decant).toMatchObject({ needs: [{ name: shown }], safety: [{ fields: { file: shown } }] });
      expect(info['format-specific'].data).toEqual({ 'data-file': shown });
    }
  });

  test('a parent is not a backing file', async () => {
    const info = await json({
      references: [{ role: 'parent', name: 'uuid', fileName: 'uuid', identity: { id: 'uuid' } }],
    });
    expect(info).not.toHaveProperty('backing-filename');
    expect(info).not.toHaveProperty('full-backing-filename');
  });
});

describe('the allocated size of the file', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'decant-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('as blocks of 512 bytes', async () => {
    const path = join(folder, 'a');
    writeFileSync(path, Buffer.alloc(10_000, 1));
    const size = statSync(path).blocks * 512;
    expect(await json({}, path)).toMatchObject({ filename: path, 'actual-size': size });
    expect((await text({}, path)).find((line) => line.startsWith('disk size: '))).toMatch(
      /^disk size: [\d.]+ [KM]?i?B$/,
    );
  });

  test('of all parts that the image is read from', async () => {
    const [first, ...others] = ['a.001', 'a.002', 'a.003', 'a.004'].map((name) => join(folder, name));
    for (const path of [first!, ...others]) writeFileSync(path, Buffer.alloc(10_000, 1));
    const { blocks } = statSync(first!);
    const layer = (name: string) => ({ name, format: 'raw', guessed: false, virtualSize: 512 });
    for (const [info, parts] of [
      [{}, 4],
      [{ unusedCompanions: ['a.003'] }, 3],
      [{ layers: [layer('a.001'), layer('a.002')] }, 3],
    ] as const) {
      const lines = await infoJson({ ...PLAIN, ...info } as Info, first!, others);
      expect(JSON.parse(lines.join(''))).toMatchObject({ 'actual-size': parts * blocks * 512 });
    }
    const packed = await packedJson({ format: 'qcow2' }, first!, others);
    expect(JSON.parse(packed.join(''))).toMatchObject({ 'actual-size': 4 * blocks * 512 });
  });
});
