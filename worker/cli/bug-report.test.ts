// A report on an image whose every text is private, and on what could not be opened.

import { expect, test } from 'vitest';
import { DecantError, type Fields } from '../errors/errors.js';
import type { AnyInfo, CheckResult } from '../public/types.js';
import { bugReport, type Subject } from './bug-report.js';

/** A text that must not appear. It looks like a word, a code or an ID. */
const PRIVATE = 'acme-payroll';
/** A number that must not appear. */
const ID = 1_234_567_891;

const FIELDS: Fields = { file: PRIVATE, neededBy: PRIVATE, host: PRIVATE, format: PRIVATE, size: 7, leftAt: PRIVATE };
const DISK = { name: PRIVATE, size: 512, format: 'vmdk' };

const INFO: AnyInfo = {
  format: 'vmdk',
  name: PRIVATE,
  machine: PRIVATE,
  hardware: { cpus: 2, os: 'ubuntu', network: ['E1000'] },
  containers: [{ name: 'gzip' }, { name: 'tar', member: PRIVATE }],
  virtualSize: 1024,
  fileSize: 512,
  clusterSize: 65_536,
  version: 1,
  features: ['dirty', 'corrupt'],
  snapshots: [
    {
      ...{ id: PRIVATE, name: PRIVATE, date: ID, vmClock: ID, vmStateSize: 0, icount: ID },
    },
  ],
  references: [
    { role: 'parent', name: PRIVATE, fileName: PRIVATE, format: PRIVATE, identity: { id: PRIVATE, state: PRIVATE } },
    { role: 'backing file', name: PRIVATE, fileName: PRIVATE, format: 'qcow2' },
  ],
  identities: [{ id: PRIVATE, state: PRIVATE }],
  encryption: { format: 'luks' },
  specific: {
    cid: ID,
    'parent-cid': ID,
    'create-type': PRIVATE,
    'disk-id': PRIVATE,
    'data-file': PRIVATE,
    uuid: PRIVATE,
    [PRIVATE]: true,
    encrypt: { uuid: PRIVATE, 'cipher-alg': 'aes-256', 'hash-alg': PRIVATE, slots: [{ active: true, iters: 10 }] },
    extents: [{ filename: PRIVATE, 'virtual-size': 1024, format: 'SPARSE' }],
  },
  layers: [
    { name: PRIVATE, format: 'vmdk', guessed: false, virtualSize: 1024 },
    { name: PRIVATE, format: 'raw', guessed: true, virtualSize: 512, encryption: 'luks' },
  ],
  needs: [
    { kind: 'password', of: PRIVATE },
    { kind: 'missing-file', role: 'parent', name: PRIVATE, fileName: PRIVATE, of: PRIVATE },
  ],
  unusedCompanions: [PRIVATE],
  safety: [{ code: 'huge', fields: FIELDS, message: PRIVATE }],
};

const CHECK: CheckResult = {
  accept: false,
  findings: [
    { code: 'huge', severity: 'warning', fields: FIELDS, message: PRIVATE },
    { code: 'corrupt', severity: 'error', fields: { damage: 'grain-cut', offset: 3 }, message: PRIVATE },
  ],
};

/** The report for `INFO`. */
const REPORTED = {
  format: 'vmdk',
  version: 1,
  packedIn: 'gzip, tar',
  virtualSize: 1024,
  fileSize: 512,
  clusterSize: 65_536,
  features: 'dirty, corrupt',
  encryption: 'luks',
  specific: {
    'create-type': '(another)',
    encrypt: { 'cipher-alg': 'aes-256', 'hash-alg': '(another)', slots: [{ active: true, iters: 10 }] },
    extents: [{ 'virtual-size': 1024, format: 'SPARSE' }],
  },
  snapshots: 1,
  layers: [
    { format: 'vmdk', virtualSize: 1024 },
    { format: 'raw', guessed: true, virtualSize: 512, encryption: 'luks' },
  ],
  references: [
    { role: 'parent', format: '(another)' },
    { role: 'backing file', format: 'qcow2' },
  ],
  needs: ['password', 'parent'],
  unusedFiles: 1,
  hardware: { cpus: 2, os: 'ubuntu', network: ['E1000'] },
};

const failed = (code: string, fields: Fields) => new DecantError('corrupt', PRIVATE, { code, fields });

for (const [what, subject, expected] of [
  ['nothing but a source', {}, {}],
  ['all that an image may have', { info: INFO, streamed: false }, REPORTED],
  ['a streamed image', { streamed: true }, { streamed: true }],
  [
    'findings, with their numbers',
    { check: CHECK },
    {
      findings: [
        { code: 'huge', severity: 'warning', format: '(another)', size: 7 },
        { code: 'corrupt', severity: 'error', damage: 'grain-cut', offset: 3 },
      ],
    },
  ],
  [
    'disks to choose from',
    { disks: [DISK, { ...DISK, missing: true }] },
    {
      disks: [
        { size: 512, format: 'vmdk' },
        { size: 512, format: 'vmdk', missing: true },
      ],
    },
  ],
  [
    'an image that must be unpacked',
    { packed: { format: 'qcow2', containers: [{ name: 'xz' }], machine: PRIVATE, size: 9 } },
    { packedIn: 'xz', packed: { format: 'qcow2', size: 9 } },
  ],
  [
    'a failure',
    { failure: failed('corrupt', { ...FIELDS, disks: [DISK], kept: true }) },
    { failure: { kind: 'corrupt', code: 'corrupt', format: '(another)', size: 7, kept: true } },
  ],
] satisfies [string, Partial<Subject>, object][]) {
  test(`a report on ${what}`, () => {
    const report = bugReport({ source: 'file', ...subject }, '1.2.3');
    expect(report).toEqual({
      decant: {
        ...{ version: '1.2.3', node: process.versions.node, platform: `${process.platform} ${process.arch}` },
        ...{ engine: 'workers', cores: expect.any(Number), memory: expect.stringMatching(/iB$/) },
      },
      image: { source: 'file', ...expected },
    });
    const text = JSON.stringify(report);
    expect(text).not.toContain(PRIVATE);
    expect(text).not.toContain(String(ID));
  });
}

test('a long list is cut', () => {
  const disks = Array.from({ length: 40 }, () => DISK);
  const report = bugReport({ source: 'file', disks }, '1.2.3');
  const rows = Array.from({ length: 32 }, () => ({ size: 512, format: 'vmdk' }));
  expect(report).toMatchObject({ image: { disks: [...rows, { more: 8 }] } });
});
