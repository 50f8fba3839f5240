// `DecantError`, and conversions of other errors to it.

import { describe, expect, test } from 'vitest';
import {
  cancelled,
  customTargetError,
  DecantError,
  orCancelled,
  reasonOf,
  toDecantError,
  toPlain,
  toTargetError,
} from './errors.js';

const unprintable = {
  toString() {
    throw new Error('no');
  },
};

const throwing = Object.defineProperty(new Error('a'), 'message', {
  get() {
    throw new Error('no');
  },
});

const TIMED_OUT = new DOMException('It took too long', 'TimeoutError');

// (reason, name, code, message)
test.each<[reason: unknown, name: string, code: string, message: string]>([
  [undefined, 'AbortError', 'cancelled', 'It was cancelled'],
  [TIMED_OUT, 'TimeoutError', 'timed-out', 'It took longer than its time-out'],
  [new DOMException('No', 'NotAllowedError'), 'DecantError', 'cancelled', 'It was cancelled'],
  [new Error('mine'), 'DecantError', 'cancelled', 'It was cancelled'],
  ['mine', 'DecantError', 'cancelled', 'It was cancelled'],
])('a cancel because of %s', (given, name, code, message) => {
  const signal = AbortSignal.abort(given);
  const error = cancelled('It', signal);
  expect(error).toMatchObject({ name, kind: 'cancelled', code, message });
  expect(error.cause).toBe(signal.reason);
  expect(error.toJSON()).toMatchObject({ name, code });
});

test('the name is that of the reason only if the call was cancelled', () => {
  expect(new DecantError('source', 'It timed out', { cause: TIMED_OUT }).name).toBe('DecantError');
  expect(cancelled('It').cause).toBeUndefined();
});

describe('DecantError', () => {
  test('its message is escaped and cut', () => {
    expect(new DecantError('usage', 'a\nb').message).toBe('a\\u000ab');
    expect(new DecantError('usage', 'x'.repeat(5000)).message).toHaveLength(999);
  });

  test('its cause is kept, but is not posted', () => {
    const error = new DecantError('target', 'full', { cause: new Error('ENOSPC') });
    expect(error.cause).toEqual(new Error('ENOSPC'));
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'DecantError',
      kind: 'target',
      code: 'target',
      fields: {},
      message: 'full',
    });
  });

  for (const [what, value, is] of [
    ['an error', new DecantError('usage', 'a'), true],
    ['its plain form', new DecantError('usage', 'a').toJSON(), true],
    ['one of another copy', Object.assign(new Error('a'), { name: 'DecantError', kind: 'usage' }), true],
    ['a cancel', cancelled('It', AbortSignal.abort()), true],
    ['the plain form of a time-out', cancelled('It', AbortSignal.abort(TIMED_OUT)).toJSON(), true],
    ['the reason of a cancel', AbortSignal.abort().reason, false],
    ['a copy without a kind', Object.assign(new Error('a'), { name: 'DecantError' }), false],
    ['another error', Object.assign(new Error('a'), { kind: 'usage' }), false],
    ['another kind of message', { name: 'DecantError', kind: 'usage', message: 7 }, false],
    ['text', 'DecantError', false],
    ['null', null, false],
    ['nothing', undefined, false],
    ['an error whose message throws', Object.assign(throwing, { name: 'DecantError', kind: 'usage' }), false],
  ] as const) {
    test(`is ${is ? '' : 'not '}recognised in ${what}`, () => expect(DecantError.is(value)).toBe(is));
  }
});

for (const [what, thrown, reason] of [
  ['nothing', undefined, 'no reason was given'],
  ['an error', new Error('a'), 'a'],
  ['text', 'a', 'a'],
  ['null', null, 'null'],
  ['a number', 7, '7'],
  ['an object', { message: 'a' }, '[object Object]'],
  ['a symbol', Symbol('a'), 'Symbol(a)'],
  ['a value that cannot be a string', unprintable, 'no reason was given'],
  ['an object without a prototype', Object.create(null), 'no reason was given'],
  ['an error whose message is no text', Object.assign(new Error('a'), { message: 7 }), '7'],
  ['an error whose message throws', throwing, 'no reason was given'],
] as const) {
  test(`the reason of ${what}`, () => expect(reasonOf(thrown)).toBe(reason));
}

for (const [what, thrown, plain] of [
  [
    'an error of the wasm',
    { kind: 'corrupt', code: 'truncated', fields: { size: 7 }, message: 'a' },
    { kind: 'corrupt', code: 'truncated', fields: { size: 7 }, message: 'a' },
  ],
  [
    'an error without a code',
    { kind: 'corrupt', message: 'a' },
    { kind: 'corrupt', code: 'corrupt', fields: {}, message: 'a' },
  ],
  [
    'an error of its own',
    new DecantError('limit', 'a', { code: 'too-many' }),
    { kind: 'limit', code: 'too-many', fields: {}, message: 'a' },
  ],
  ['another error', new Error('a'), { kind: 'source', code: 'source', fields: {}, message: 'a' }],
  ['text', 'a', { kind: 'source', code: 'source', fields: {}, message: 'a' }],
  ['nothing', undefined, { kind: 'source', code: 'source', fields: {}, message: 'no reason was given' }],
] as const) {
  test(`plain: ${what}`, () => expect(toPlain(thrown, 'source')).toEqual(plain));
}

describe('toDecantError', () => {
  test('a DecantError is returned unchanged', () => {
    const error = new DecantError('limit', 'a');
    expect(toDecantError(error, 'target', 'write')).toBe(error);
  });

  test('a plain error has no cause, which would repeat it', () => {
    const error = toDecantError({ kind: 'corrupt', message: 'a' }, 'target', 'write');
    expect(error).toMatchObject({ kind: 'corrupt', message: 'a' });
    expect(error).not.toHaveProperty('cause');
  });

  for (const [doing, message] of [
    ['read it', 'Could not read it: a'],
    [undefined, 'a'],
  ] as const) {
    test(`another error is the cause: ${message}`, () => {
      const cause = new Error('a');
      expect(toDecantError(cause, 'source', doing)).toMatchObject({ kind: 'source', message, cause });
      expect(toDecantError(cause)).toMatchObject({ kind: 'internal', cause });
    });
  }
});

describe('a value that a target throws gets the kind target', () => {
  const full =
    "Could not write the output: the disk or the browser's storage is full; free some space, or save another way";
  for (const [what, thrown, message] of [
    ['an error', new Error('a'), 'Could not write the output: a'],
    ['text', 'a', 'Could not write the output: a'],
    ['nothing', undefined, 'Could not write the output: the target failed without a reason'],
    ['a known exception', new DOMException('a', 'QuotaExceededError'), full],
    ['an unknown exception', new DOMException('a', 'DataError'), 'Could not write the output: a'],
    ['an error of another kind', new DecantError('source', 'a'), 'Could not write the output: a'],
  ] as const) {
    test(what, () => {
      const error = customTargetError(thrown);
      expect(error).toBeInstanceOf(DecantError);
      expect(error).toMatchObject({ kind: 'target', message });
      expect(error.cause).toBe(thrown);
    });
  }

  test('an error of kind target stays, also of another copy of the package', () => {
    const own = new DecantError('target', 'a');
    expect(customTargetError(own)).toBe(own);
    const other = Object.assign(new Error('a'), { name: 'DecantError', kind: 'target' });
    expect(customTargetError(other)).toBeInstanceOf(DecantError);
    expect(customTargetError(other)).toMatchObject({ kind: 'target', message: 'a', cause: other });
  });
});

describe('toTargetError', () => {
  for (const [name, reason, code] of [
    ['NotAllowedError', /does not allow writing there/, 'writing-refused'],
    ['SecurityError', /does not allow this page to store/, 'storage-refused'],
    ['QuotaExceededError', /is full/, 'storage-full'],
    ['NoModificationAllowedError', /in use elsewhere.* read-only/, 'file-in-use'],
    ['InvalidStateError', /name is too long/, 'file-changed'],
    ['NotFoundError', /is gone/, 'place-gone'],
    ['TypeMismatchError', /a folder of that name/, 'folder-of-name'],
    ['DataError', /^Could not write the output: a$/, 'target'],
  ] as const) {
    test(name, () => {
      const thrown = new DOMException('a', name);
      const error = toTargetError(thrown);
      expect(error).toMatchObject({ kind: 'target', code, cause: thrown });
      expect(error.message).toMatch(/^Could not write the output: /);
      expect(error.message).toMatch(reason);
    });
  }

  test('a DecantError is returned unchanged', () => {
    const error = new DecantError('cancelled', 'a');
    expect(toTargetError(error)).toBe(error);
  });
});

test('a cancel says what was cancelled', () => {
  expect(cancelled()).toMatchObject({ kind: 'cancelled', message: 'The operation was cancelled' });
  expect(cancelled('Reading the map')).toMatchObject({ kind: 'cancelled', message: 'Reading the map was cancelled' });
});

describe('orCancelled', () => {
  const never = new Promise<never>(() => {});

  test('settles like the work without a cancel', async () => {
    const { signal } = new AbortController();
    expect(await orCancelled(undefined, Promise.resolve(7))).toBe(7);
    expect(await orCancelled(signal, Promise.resolve(7))).toBe(7);
    await expect(orCancelled(signal, Promise.reject(new Error('a')))).rejects.toThrow('a');
  });

  test('ends at once on a cancel', async () => {
    const abort = new AbortController();
    const ended = orCancelled(abort.signal, never);
    abort.abort();
    await expect(ended).rejects.toMatchObject({ kind: 'cancelled' });
  });

  test('after a cancel it fails at once and ignores a failure of the work', async () => {
    await expect(orCancelled(AbortSignal.abort(), never)).rejects.toMatchObject({ kind: 'cancelled' });
    // Vitest fails on an unhandled rejection.
    const failing = Promise.reject(new Error('a'));
    await expect(orCancelled(AbortSignal.abort(), failing)).rejects.toMatchObject({ kind: 'cancelled' });
    await new Promise(setImmediate);
  });
});
