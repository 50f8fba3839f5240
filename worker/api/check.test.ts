// Checks: severities, their order, and acceptance.

import { describe, expect, test } from 'vitest';
import type { Examined } from '../messages/coordinator.js';
import type { FileCheck, Info, Notice } from '../public/types.js';
import { checkResult } from './check.js';
import { infoOf } from './info.test-support.js';

const SIZE = 1000;
const whole: Examined = { notices: [], lost: 0, checked: SIZE };
const notice = (code: string, fields = {}): Notice => ({ code, fields, message: code });

const check = (info: Partial<Info> = {}, examined: Partial<Examined> | undefined = {}) =>
  checkResult(infoOf({ virtualSize: SIZE, ...info }), examined && { ...whole, ...examined });
/** The codes and severities of the findings. */
const found = (...args: Parameters<typeof check>) =>
  check(...args).findings.map(({ code, severity }) => `${severity} ${code}`);

test('an image without findings is accepted', () => {
  expect(check()).toEqual({ accept: true, findings: [] });
});

describe('errors', () => {
  test('a missing file', () => {
    const need = {
      kind: 'missing-file',
      role: 'backing file',
      name: 'base\u202e.qcow2',
      fileName: 'base\u202e.qcow2',
      of: 'top.qcow2',
    } as const;
    expect(check({ needs: [need] })).toEqual({
      accept: false,
      findings: [
        {
          code: 'missing-file',
          severity: 'error',
          fields: { file: 'base\u202e.qcow2', role: 'backing file', neededBy: 'top.qcow2' },
          message: "'base\\u202e.qcow2', the backing file of 'top.qcow2', is missing; pass it together with the image",
        },
      ],
    });
  });

  test('a password', () => {
    expect(check({ needs: [{ kind: 'password', of: 'top' }] })).toMatchObject({
      accept: false,
      findings: [{ code: 'password-needed', fields: { layer: 'top' } }],
    });
  });

  test('damage, by its own code', () => {
    const damage = notice('truncated', { offset: 7, size: 5 });
    expect(check({}, { damage, checked: 10 })).toEqual({
      accept: false,
      findings: [{ code: 'truncated', severity: 'error', fields: { offset: 7, size: 5 }, message: 'truncated' }],
    });
  });

  test('bytes that a salvage has lost', () => {
    expect(check({}, { lost: 5 })).toMatchObject({
      accept: false,
      findings: [{ code: 'lost', fields: { size: 5 } }],
    });
  });
});

describe('warnings', () => {
  test('tables that were not read', () => {
    expect(check({}, { checked: 999 })).toMatchObject({
      accept: true,
      findings: [{ code: 'unchecked', severity: 'warning', fields: { checked: 999, size: SIZE } }],
    });
  });

  test('a streamed image', () => {
    const { virtualSize: _, ...info } = infoOf({});
    expect(checkResult(info, undefined)).toMatchObject({
      accept: true,
      findings: [{ code: 'unchecked', fields: { checked: 0 } }],
    });
  });
});

test('notices of headers and tables, each once; used files are notes', () => {
  const safety = ['backing-file', 'protocol', 'shared', 'source-not-verified'].map((code) => notice(code));
  const unusedCompanions = ['other.qcow2'];
  expect(found({ safety, unusedCompanions }, { notices: [notice('shared'), notice('expanding')] })).toEqual([
    'warning protocol',
    'warning shared',
    'warning expanding',
    'note backing-file',
    'note source-not-verified',
    'note unused-companion',
  ]);
});

test('a deep check sums up what is wrong in the file', () => {
  const counts = { totalClusters: 9, allocatedClusters: 8, fragmentedClusters: 1, compressedClusters: 0, imageEnd: 9 };
  const file = { ...counts, corruptions: 0, leaks: 0, unchecked: 0, hasTables: true, countsLeaks: true, findings: [] };
  const deep = (found: Partial<FileCheck>) => checkResult(infoOf({ virtualSize: SIZE }), whole, { ...file, ...found });
  expect(deep({})).toEqual({ accept: true, findings: [], file });
  const finding = { kind: 'leak', count: 1200, code: 'check-leak', message: 'leaked' } as const;
  const findings = [{ ...finding, fields: { offset: 7 } }];
  expect(deep({ corruptions: 2, leaks: 1200, unchecked: 1, findings })).toMatchObject({
    accept: true,
    findings: [
      { code: 'check-corruptions', severity: 'warning', fields: { count: 2 } },
      { code: 'check-unchecked', severity: 'warning', fields: { count: 1 } },
      { code: 'check-leaks', severity: 'note', fields: { count: 1200 }, message: expect.stringContaining('1,200') },
    ],
    file: { findings: [{ ...finding, fields: { offset: 7 } }] },
  });
});

test('errors come first', () => {
  const needs = [{ kind: 'password', of: 'top' } as const];
  const safety = [notice('extent'), notice('huge')];
  expect(found({ needs, safety }, { damage: notice('corrupt') })).toEqual([
    'error password-needed',
    'error corrupt',
    'warning huge',
    'note extent',
  ]);
});
