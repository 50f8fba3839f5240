// `decant info --report` of real images whose names, labels and IDs are private: none of them is printed.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, decant, startProgram } from '../support/command.js';
import { images, qemuImg } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';
import { ovaOfSeveral } from '../support/ova.js';
import { serveFile } from '../support/remote.js';

/** In each path, file name, label and name of a machine. */
const PRIVATE = 'acme-payroll';

/** The values of properties of `qemu-img info` that identify an image. */
const IDS = /"(?:uuid|cid|parent-cid|disk-id|id)": "?([^",\s}]+)/g;

/** The IDs that qemu-img finds in `image`. The ID of a snapshot, such as 1, is in other numbers, too. */
const idsOf = (image: string): string[] =>
  [...qemuImg('info', '-U', '--output=json', image).matchAll(IDS)].map(([, id]) => id!).filter((id) => id.length > 2);

/** Checks that `printed` has none of `ids`, no private name, no path and no host. */
function expectNothingPrivate(printed: string, ids: readonly string[]): void {
  for (const secret of [PRIVATE, '/', '127.0.0.1', ...ids]) expect(printed).not.toContain(secret);
}

/** Reports on `image`, as text and as JSON, and checks both. Returns the parsed JSON. */
function reported(image: string, status: number, ...options: string[]) {
  const ids = status === 0 && options.length === 0 ? idsOf(image) : [];
  const [text, json] = [[], ['--output=json']].map((style) => {
    const ended = decant('info', '--report', ...style, ...options, image);
    expect(ended.status).toBe(status);
    expectNothingPrivate(ended.stdout, ids);
    return ended.stdout;
  }) as [string, string];
  expect(text).toMatch(/^decant:\n {4}version: \d+\.\d+\.\d+\n/);
  const report = JSON.parse(json);
  expect(report.decant).toMatchObject({ node: process.versions.node, engine: 'workers' });
  return { image: report.image, ids };
}

/** The folder for private images in `folder`. */
function privateFolder(folder: string): string {
  const path = join(folder, PRIVATE);
  mkdirSync(path, { recursive: true });
  return path;
}

const NAME = { chain: `${PRIVATE}-base.qcow2`, top: `${PRIVATE}.qcow2` };

for (const { what, make, expected, hasIds, details } of [
  {
    what: 'a backing file that is missing, and snapshots',
    make: (folder) => {
      const [base, top] = [join(folder, NAME.chain), join(folder, NAME.top)];
      qemuImg('create', '-q', '-f', 'qcow2', base, '1M');
      qemuImg('create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, top, '1M');
      qemuImg('snapshot', '-c', PRIVATE, top);
      return top;
    },
    expected: {
      ...{ source: 'file', format: 'qcow2', virtualSize: 1 << 20, snapshots: 1, needs: ['backing file'] },
      references: [{ role: 'backing file', format: 'qcow2' }],
    },
    hasIds: false,
    details: {},
  },
  {
    what: 'a LUKS header',
    make: (folder) => copied(folder, images.luks(), 'qcow2'),
    expected: { encryption: 'luks', needs: ['password'], specific: { encrypt: { 'cipher-alg': 'aes-256' } } },
    hasIds: true,
    details: FULL,
  },
  {
    what: 'the content ID and the extent of a VMDK',
    make: (folder) => {
      const path = join(folder, `${PRIVATE}.vmdk`);
      qemuImg('convert', '-O', 'vmdk', images.kinds(), path);
      return path;
    },
    expected: {
      format: 'vmdk',
      specific: { 'create-type': 'monolithicSparse', extents: [{ format: '', 'cluster-size': 65_536 }] },
    },
    hasIds: true,
    details: {},
  },
  {
    what: 'a VHDX',
    make: (folder) => copied(folder, images.vhdx('subformat=dynamic'), 'vhdx'),
    expected: { format: 'vhdx', specific: { subformat: 'dynamic' } },
    hasIds: false,
    details: FULL,
  },
] satisfies {
  what: string;
  make: (folder: string) => string;
  expected: object;
  hasIds: boolean;
  details: object;
}[]) {
  test(`the report on an image with ${what}`, details, ({ folder }) => {
    const { image, ids } = reported(make(privateFolder(folder)), 0);
    expect(image).toMatchObject(expected);
    expect(ids.length > 0).toBe(hasIds);
  });
}

/** Copies `image` to a private name. */
function copied(folder: string, image: string, extension: string): string {
  const path = join(folder, `${PRIVATE}.${extension}`);
  copyFileSync(image, path);
  return path;
}

test('the report on an archive lists its disks without names', FULL, ({ folder }) => {
  const path = privateFolder(folder);
  const disks = ['a', 'b'].map((name) => copied(path, images.kinds(), `${name}.qcow2`));
  const archive = ovaOfSeveral(path, `${PRIVATE}.ova`, disks);
  const { ids: _, image } = reported(archive, 0, '-U');
  expect(image.disks).toMatchObject([{ format: 'qcow2' }, { format: 'qcow2' }]);
  expect(reported(archive, 0, '--disk', '1').image).toMatchObject({ format: 'qcow2', packedIn: 'tar' });
});

for (const [what, make, failure] of [
  ['a missing file', (path) => join(path, PRIVATE), { kind: 'source' }],
  [
    'a truncated image',
    (path) => {
      const image = copied(path, images.kinds(), 'qcow2');
      truncateSync(image, 50);
      return image;
    },
    { kind: 'corrupt' },
  ],
  [
    'another file',
    (path) => {
      writeFileSync(join(path, PRIVATE), PRIVATE.repeat(1000));
      return join(path, PRIVATE);
    },
    { kind: 'not-recognised' },
  ],
] satisfies [string, (path: string) => string, object][]) {
  test(`the report on ${what} has the failure`, what === 'another file' ? {} : FULL, ({ folder }) => {
    expect(reported(make(privateFolder(folder)), 1).image).toMatchObject({ source: 'file', failure });
  });
}

test('the report on an image on a server has no address', async () => {
  const server = await serveFile(readFileSync(images.kinds()));
  try {
    const address = `${server.origin}/${PRIVATE}.qcow2?sig=${PRIVATE}`;
    const { ended } = startProgram(process.execPath, [cli, 'info', '--report', address]);
    const { status, stdout } = await ended;
    expect(status).toBe(0);
    expectNothingPrivate(stdout, [new URL(server.origin).port]);
    expect(stdout).toContain('source: server\n');
  } finally {
    await server.close();
  }
});

test('the report on a stream says that it is read in order', ({ folder }) => {
  const packed = join(privateFolder(folder), `${PRIVATE}.raw.gz`);
  execFileSync('sh', ['-c', `head -c 1048576 /dev/zero | gzip > '${packed}'`]);
  expect(reported(packed, 0, '-U').image).toMatchObject({ format: 'raw', packedIn: 'gzip', streamed: true });
});
