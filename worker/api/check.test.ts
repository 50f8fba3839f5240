// Verdicts: severities, their order, and acceptance.

import { describe, expect, test } from 'vitest';
import type { Examined } from '../messages/coordinator.js';
import type { Info, Notice } from '../public/types.js';
import { infoOf } from './info.test-support.js';
import { verdictOn } from './verdict.js';

const SIZE = 1000;
const whole: Examined = { notices: [], lost: 0, checked: SIZE };
const notice = (code: string, fields = {}): Notice => ({ code, fields, message: code });

const verdict = (info: Partial<Info> = {}, examined: Partial<Examined> | undefined = {}) =>
  verdictOn(infoOf({ virtualSize: SIZE, ...info }), examined && { ...whole, ...examined });
/** The codes and severities of the findings. */
const found = (...args: Parameters<typeof verdict>) =>
  verdict(...args).findings.map(({ code, severity }) => `${severity} ${code}`);

test('an image without findings is accepted', () => {
  expect(verdict()).toEqual({ accept: true, findings: [] });
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
    expect(verdict({ needs: [need] })).toEqual({
      accept: false,
      findings: [
        {
          code: 'missing-file',
          severity: 'error',
          params: { file: 'base\u202e.qcow2', role: 'backing file', neededBy: 'top.qcow2' },
          message: "'base\\u202e.qcow2', the backing file of 'top.qcow2', is missing; pass it together with the image",
        },
      ],
    });
  });

  test('a password', () => {
    expect(verdict({ needs: [{ kind: 'password', of: 'top' }] })).toMatchObject({
      accept: false,
      findings: [{ code: 'password-needed', params: { layer: 'top' } }],
    });
  });

  test('damage, by its own code', () => {
    const damage = notice('truncated', { offset: 7, size: 5 });
    expect(verdict({}, { damage, checked: 10 })).toEqual({
      accept: false,
      findings: [{ code: 'truncated', severity: 'error', params: { offset: 7, size: 5 }, message: 'truncated' }],
    });
  });

  test('bytes that a salvage has lost', () => {
    expect(verdict({}, { lost: 5 })).toMatchObject({
      accept: false,
      findings: [{ code: 'lost', params: { size: 5 } }],
    });
  });
});

describe('warnings', () => {
  test('tables that were not read', () => {
    expect(verdict({}, { checked: 999 })).toMatchObject({
      accept: true,
      findings: [{ code: 'unchecked', severity: 'warning', params: { checked: 999, size: SIZE } }],
    });
  });

  test('a streamed image', () => {
    const { virtualSize: _, ...info } = infoOf({});
    expect(verdictOn(info, undefined)).toMatchObject({
      accept: true,
      findings: [{ code: 'unchecked', params: { checked: 0 } }],
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
