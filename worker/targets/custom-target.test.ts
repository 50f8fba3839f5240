// Custom targets: their calls, and their ends.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { cancelled, DecantError } from '../errors/errors.js';
import { soon } from '../errors/soon.test-support.js';
import type { Target, TargetPlan } from '../public/types.js';
import { PortTarget } from '../worker-side/port-target.js';
import { abandonOutput, isCustomOutput } from './custom-output.js';
import { CustomTarget } from './custom-target.js';

const MIB = 1 << 20;
const SIZES = { virtualSize: 2 * MIB, outputSize: 2 * MIB };
const { signal } = new AbortController();

/** A target that records its calls, with `changes`. */
function noting(changes: object = {}): Target & { calls: unknown[][] } {
  const calls: unknown[][] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]) =>
      void calls.push([name, ...args]);
  const methods = { open: note('open'), write: note('write'), close: note('close'), abort: note('abort') };
  return { calls, ...methods, ...changes } as Target & { calls: unknown[][] };
}
const namesOf = ({ calls }: { calls: unknown[][] }) => calls.map(([name]) => name);

/** Starts a conversion to `target`; `port` is the coordinator's end. */
async function begin(target: Target, identity?: string): Promise<{ output: CustomTarget; port: PortTarget }> {
  const output = new CustomTarget(target);
  const spec = await output.prepare(SIZES, signal, identity);
  if (!('port' in spec)) throw new Error('no port');
  return { output, port: new PortTarget(spec) };
}

/** A conversion of two pieces as `convertImage` does it; resolves to its failure. */
async function convert(target: Target): Promise<DecantError | undefined> {
  const output = new CustomTarget(target);
  try {
    const spec = await output.prepare(SIZES, signal);
    const port = new PortTarget(spec as Extract<typeof spec, { port: MessagePort }>);
    await port.write(0, new Uint8Array(MIB));
    await port.hole(MIB, MIB);
    await port.close();
    await output.commit(2 * MIB, signal);
    return undefined;
  } catch (thrown) {
    const error = output.failure ?? (thrown as DecantError);
    await output.discard(error, false);
    return error;
  }
}

describe('a conversion', () => {
  test('opens a target, writes it and closes it', async () => {
    const target = noting();
    expect(await convert(target)).toBeUndefined();
    const plan: TargetPlan = { ...SIZES, ascending: false };
    const calls = target.calls.map((call) => call.map((it) => (it instanceof Uint8Array ? it.length : it)));
    expect(calls).toEqual([['open', plan], ['write', 0, MIB], ['write', MIB, MIB], ['close']]);
  });

  test('passes holes to a target with a hole method', async () => {
    const hole = vi.fn(async () => {});
    const target = noting({ hole });
    expect(await convert(target)).toBeUndefined();
    expect(hole.mock.calls).toEqual([[MIB, MIB]]);
    expect(namesOf(target)).toEqual(['open', 'write', 'close']);
  });

  test('announces ascending pieces to an ascending target', async () => {
    const target = noting({ ascending: true });
    await convert(target);
    expect(target.calls[0]).toEqual(['open', { ...SIZES, ascending: true }]);
  });

  test('needs no open', async () => {
    const target = noting({ open: undefined });
    expect(await convert(target)).toBeUndefined();
    expect(namesOf(target)).toEqual(['write', 'write', 'close']);
  });

  test('does not complete an output of another size', async () => {
    const target = noting();
    const { output, port } = await begin(target);
    await port.write(0, new Uint8Array(10));
    await port.close();
    await expect(output.commit(11, signal)).rejects.toMatchObject({
      kind: 'target',
      message: expect.stringContaining('it has 10 bytes instead of 11'),
    });
    expect(namesOf(target)).not.toContain('close');
  });
});

describe('writes at once', () => {
  for (const [options, most] of [
    [{}, 4],
    [{ ascending: true }, 1],
    [{ concurrency: 7 }, 7],
    [{ ascending: true, concurrency: 3 }, 3],
    [{ hole: async () => {}, concurrency: 2 }, 2],
  ] as const) {
    test(`are ${most} with ${JSON.stringify(options)}`, async () => {
      const waiting: (() => void)[] = [];
      const write = vi.fn(() => new Promise<void>((resolve) => waiting.push(resolve)));
      const { port } = await begin(noting({ ...options, write }));
      const written = Array.from({ length: 20 }, (_, at) => port.write(at * MIB, new Uint8Array(MIB)));
      await soon(() => expect(write).toHaveBeenCalledTimes(most));
      // The end of one lets the next one start.
      waiting.shift()!();
      await soon(() => expect(write).toHaveBeenCalledTimes(most + 1));
      expect(waiting).toHaveLength(most);
      const offsets = (write.mock.calls as unknown as [number][]).map(([offset]) => offset);
      expect(offsets).toEqual(offsets.map((_, at) => at * MIB));
      await port.abort();
      await Promise.allSettled(written);
    });
  }
});

describe('a target fails a conversion', () => {
  const cause = new Error('no room');
  const failures: [how: string, fail: () => unknown, message: string][] = [
    [
      'by throwing',
      () => {
        throw cause;
      },
      'Could not write the output: no room',
    ],
    ['by rejecting', () => Promise.reject(cause), 'Could not write the output: no room'],
    [
      'by an error of another kind',
      () => Promise.reject(new DecantError('corrupt', 'no room')),
      'Could not write the output: no room',
    ],
    ['by an error of the same kind', () => Promise.reject(new DecantError('target', 'no room')), 'no room'],
    [
      'by an exception of the browser',
      () => Promise.reject(new DOMException('', 'QuotaExceededError')),
      "Could not write the output: the disk or the browser's storage is full; free some space, or save another way",
    ],
    ['without a reason', () => Promise.reject(), 'Could not write the output: the target failed without a reason'],
  ];
  for (const [how, fail, message] of failures) {
    test.each(['open', 'write', 'hole', 'close'])(`${how}, in %s`, async (method) => {
      let reason: unknown;
      const target = noting({ hole: async () => {}, concurrency: 1 });
      const { abort } = target;
      Object.assign(target, {
        [method]: () => {
          target.calls.push(['failed']);
          return fail();
        },
        abort: (given: DecantError, keep: boolean) => {
          reason = given;
          return abort(given, keep);
        },
      });
      const error = await convert(target);
      expect(error).toMatchObject({ kind: 'target', message });
      expect(reason).toBe(error);
      expect(namesOf(target).filter((name) => name === 'abort')).toHaveLength(1);
      expect(namesOf(target).at(-1)).toBe('abort');
      expect(namesOf(target)).not.toContain('close');
    });
  }

  const silent = Object.defineProperty(new Error('a'), 'message', {
    get() {
      throw new Error('b');
    },
  });
  const hostile = new Proxy(new Error('a'), {
    get() {
      throw new Error('b');
    },
  });
  for (const [what, thrown] of [
    ['an error without a readable message', silent],
    ['a proxy that throws', hostile],
  ] as const) {
    test.each(['open', 'write', 'hole', 'close', 'abort'])(`${what}, in %s`, async (method) => {
      const target = noting({ hole: async () => {}, concurrency: 1 });
      const isAbort = method === 'abort';
      Object.assign(target, {
        [method]: () => Promise.reject(thrown),
        ...(isAbort && { write: () => Promise.reject(cause) }),
      });
      const message = isAbort ? cause.message : 'no reason was given';
      expect(await convert(target)).toMatchObject({
        kind: 'target',
        message: `Could not write the output: ${message}`,
      });
    });
  }

  test('a result of close that cannot be read is a failure, and the closed target is not aborted', async () => {
    const end = {
      get unconfirmed() {
        throw cause;
      },
    };
    const target = noting({ close: async () => end });
    expect(await convert(target)).toMatchObject({ kind: 'target', cause });
    expect(namesOf(target)).not.toContain('abort');
  });

  test.each(['write', 'close', 'abort'])('a getter of %s', (name) => {
    const target = Object.defineProperty(noting(), name, {
      get() {
        throw cause;
      },
    });
    expect(() => isCustomOutput(target)).toThrow(expect.objectContaining({ kind: 'target', cause }));
    expect(() => abandonOutput(target, cancelled())).not.toThrow();
    expect(target.calls).toHaveLength(name === 'abort' ? 0 : 1);
  });

  test.each([
    ['open', null],
    ['open', 5],
    ['hole', null],
    ['hole', 5],
  ])('%s that is %s is refused before anything is called', async (name, value) => {
    const target = noting({ [name]: value });
    expect(await convert(target)).toMatchObject({ kind: 'usage', message: `'${name}' of a target must be a function` });
    expect(namesOf(target)).toEqual(['abort']);
  });

  test('the thrown error is the cause', async () => {
    const error = await convert(noting({ write: () => Promise.reject(cause) }));
    expect(error?.cause).toBe(cause);
  });

  test('a failure of abort is ignored', async () => {
    const target = noting({ write: () => Promise.reject(cause), abort: () => Promise.reject(new Error('worse')) });
    expect((await convert(target))?.cause).toBe(cause);
  });

  test('abort can report a remaining output, also by an error of another copy of the package', async () => {
    const stays = new DecantError('target', 'a part stays', { code: 'left-behind', fields: { leftAt: 'there' } });
    for (const thrown of [stays, { ...stays.toJSON() }]) {
      const { output } = await begin(noting({ abort: () => Promise.reject(thrown) }));
      await expect(output.discard(cancelled(), false)).rejects.toMatchObject({
        kind: 'target',
        code: 'left-behind',
        fields: { leftAt: 'there' },
        message: 'a part stays',
      });
    }
  });

  test('nothing is written after a failure, nor after the end', async () => {
    const write = vi.fn().mockRejectedValue(cause);
    const { output, port } = await begin(noting({ write, concurrency: 1 }));
    const written = [0, 1, 2, 3].map((at) => port.write(at, new Uint8Array(1)));
    const ends = await Promise.allSettled([...written, port.close()]);
    expect(ends.at(-1)?.status).toBe('rejected');
    await output.discard(output.failure!, false);
    expect(write).toHaveBeenCalledTimes(1);
  });

  test.each(['network', 'resumes'] as const)('by a %s that cannot be read, before it begins', (field) => {
    const cause = new Error('no such thing');
    const target = Object.defineProperty(noting(), field, {
      get() {
        throw cause;
      },
    });
    const output = new CustomTarget(target);
    const failure = { kind: 'target', message: 'Could not write the output: no such thing', cause };
    expect(() => output[field]).toThrow(expect.objectContaining(failure));
  });

  test('by an invalid network', () => {
    const network = { received: 0, sent: Number.NaN, retries: 0 };
    const message = "Could not write the output: 'network.sent' must be a number from 0, not NaN";
    const output = new CustomTarget(noting({ network }));
    expect(() => output.network).toThrow(expect.objectContaining({ kind: 'target', message }));
  });

  test.each(['concurrency', 'ascending', 'hole'])('by a %s that cannot be read', async (field) => {
    const target = noting();
    Object.defineProperty(target, field, {
      get() {
        throw new Error('no such thing');
      },
    });
    const output = new CustomTarget(target);
    await expect(output.prepare(SIZES, signal)).rejects.toThrow('no such thing');
    await output.discard(cancelled(), false);
    expect(namesOf(target).at(-1)).toBe('abort');
  });
});

test.each([
  [undefined, undefined],
  [{}, undefined],
  [{ unconfirmed: 'nobody knows' }, 'nobody knows'],
  // At run time, it may have any type.
  [{ unconfirmed: 5 }, 'The target could not confirm that the output is complete'],
  [{ unconfirmed: null }, undefined],
  ['nonsense', undefined],
])('a target whose close resolves to %o', async (end, unconfirmed) => {
  const { output } = await begin(noting({ close: async () => end }));
  await output.commit(0, signal);
  expect(output.isConfirmed).toBe(unconfirmed === undefined);
  expect(output.notices.map(({ message }) => message)).toEqual(unconfirmed === undefined ? [] : [unconfirmed]);
});

test.each([-1, Number.NaN, 'long', null])('an abortTimeout of %o is refused', async (abortTimeout) => {
  const target = noting({ abortTimeout });
  const preparing = new CustomTarget(target).prepare(SIZES, signal);
  await expect(preparing).rejects.toMatchObject({
    kind: 'usage',
    message: `The abortTimeout of a target must be a number of seconds, not ${abortTimeout}`,
  });
  expect(namesOf(target)).toEqual([]);
});

describe('a target that hangs', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const never = () => new Promise<never>(() => {});

  test.each(['open', 'close'])('in %s is given up by a cancel', async (method) => {
    const target = noting({ [method]: never });
    const cancel = new AbortController();
    const output = new CustomTarget(target);
    const work = method === 'open' ? output.prepare(SIZES, cancel.signal) : closing();
    async function closing() {
      await output.prepare(SIZES, cancel.signal);
      await output.commit(0, cancel.signal);
    }
    const failed = expect(work).rejects.toMatchObject({ kind: 'cancelled' });
    await vi.advanceTimersByTimeAsync(0);
    cancel.abort();
    await vi.advanceTimersByTimeAsync(200);
    await failed;
  });

  test.each([
    [false, undefined, 200],
    [true, undefined, 10_000],
    [false, 5, 5000],
    [true, 5, 10_000],
    [true, 25, 25_000],
    [false, 3600, 60_000],
    [false, 0, 200],
  ])('in abort is waited for, with keep %s and abortTimeout %s for %i ms', async (keep, abortTimeout, patience) => {
    const { output } = await begin(noting({ abort: never, abortTimeout }));
    let isOver = false;
    const discarded = output.discard(cancelled(), keep).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(patience - 1);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await discarded;
    expect(isOver).toBe(true);
  });

  test('but closes within 200 ms of a cancel is complete', async () => {
    const cancel = new AbortController();
    const close = () => new Promise<void>((resolve) => setTimeout(resolve, 199));
    const target = noting({ close });
    const { output } = await begin(target);
    const committed = output.commit(0, cancel.signal);
    cancel.abort();
    await vi.advanceTimersByTimeAsync(199);
    await committed;
    await output.discard(cancelled(), false);
    expect(namesOf(target)).not.toContain('abort');
  });
});

describe('a target to which another conversion writes', () => {
  test('is refused and left alone', async () => {
    const target = noting();
    const { output } = await begin(target);
    const second = new CustomTarget(target);
    await expect(second.prepare(SIZES, signal)).rejects.toThrow('Another conversion is writing to this target');
    await second.discard(cancelled(), false);
    expect(namesOf(target)).toEqual(['open']);
    await output.discard(cancelled(), false);
    await begin(target);
    expect(namesOf(target)).toEqual(['open', 'abort', 'open']);
  });
});

describe('a target that resumes', () => {
  const resuming = (resumePoint: unknown, changes: object = {}) =>
    noting({ resumes: true, ascending: true, open: async () => resumePoint, ...changes });

  test('gets the identity and returns a resume point', async () => {
    const open = vi.fn(async () => ({ offset: 8192, written: 4096 }));
    const { output } = await begin(resuming(undefined, { open }), 'it');
    expect(open).toHaveBeenCalledWith({ ...SIZES, ascending: true, identity: 'it' });
    expect(output.resumePoint).toEqual({ guest: 8192, written: 4096 });
  });

  test('completes together with the resumed part', async () => {
    const target = resuming({ offset: MIB, written: 4096 });
    const { output, port } = await begin(target, 'it');
    await port.write(MIB, new Uint8Array(MIB));
    await port.close();
    await output.commit(2 * MIB, signal);
    expect(namesOf(target).at(-1)).toBe('close');
  });

  test.each([
    ['not a whole block', 4097, 0],
    ['past the end', 4 * MIB, 0],
    ['before the start', -4096, 0],
    ['not a number', Number.NaN, 0],
    ['a text', '4096', 0],
    ['more written than there is', 4096, 4097],
    ['less than nothing written', 4096, -1],
    ['half a byte written', 4096, 0.5],
  ])('is refused when it reports an impossible offset: %s', async (_, offset, written) => {
    await expect(begin(resuming({ offset, written }), 'it')).rejects.toMatchObject({
      kind: 'target',
      message: `A target cannot resume from byte ${offset} with ${written} bytes written`,
    });
  });

  test('may begin at the start', async () => {
    const { output } = await begin(resuming(undefined), 'it');
    expect(output.resumePoint).toBeUndefined();
  });

  test('must be ascending', async () => {
    await expect(begin(resuming(undefined, { ascending: false }), 'it')).rejects.toThrow('must be ascending');
  });

  test('keeps its output if asked to, and the failure says so', async () => {
    const target = resuming(undefined, { abort: async () => true });
    const { output } = await begin(target, 'it');
    await expect(output.discard(cancelled(), true)).rejects.toThrow('progress was saved');
  });

  test.each([
    ['it does not say so', undefined, true],
    ['it says something else', 'yes', true],
    ['it was not asked to', true, false],
  ])('keeps nothing if %s', async (_, answer, keep) => {
    const abort = vi.fn(async () => answer);
    const { output } = await begin(resuming(undefined, { abort }), 'it');
    await output.discard(cancelled(), keep);
    expect(abort).toHaveBeenCalledWith(expect.objectContaining({ kind: 'cancelled' }), keep);
  });

  test('starts from nothing without an identity', async () => {
    const { output } = await begin(resuming({ offset: 8192, written: 0 }));
    expect(output.resumePoint).toBeUndefined();
  });
});

describe('the shape of a target', () => {
  const method = async () => {};
  const methods = { write: method, close: method, abort: method };
  test.each([
    ['one with the three methods', methods, true],
    ['nothing', undefined, false],
    ['null', null, false],
    ['a number', 7, false],
    ['an empty object', {}, false],
    ['one without abort', { write: method, close: method }, false],
    ['one without close', { write: method, abort: method }, false],
    ['one without write', { close: method, abort: method }, false],
    ['one whose write is a number', { ...methods, write: 7 }, false],
  ])('%s', (_, value, expected) => {
    expect(isCustomOutput(value)).toBe(expected);
  });

  test.each([0, 1.5, 65, '2', -1, Number.NaN])('a concurrency of %j is refused', async (concurrency) => {
    await expect(begin(noting({ concurrency }))).rejects.toMatchObject({
      kind: 'usage',
      message: `The concurrency of a target must be a whole number from 1 to 64, not ${concurrency}`,
    });
  });

  test.each([1, 64])('a concurrency of %i is accepted', async (concurrency) => {
    await begin(noting({ concurrency }));
  });
});

describe('an output of a conversion that does not begin', () => {
  const reason = cancelled();

  test('is aborted', async () => {
    const target = noting();
    abandonOutput(target, reason);
    await soon(() => expect(target.calls).toEqual([['abort', reason, false]]));
  });

  test('is aborted if it is a stream, unless it is locked', async () => {
    const abort = vi.fn();
    const stream = new WritableStream({ abort });
    abandonOutput(stream, reason);
    await soon(() => expect(abort).toHaveBeenCalledWith(reason));
    const locked = new WritableStream({ abort });
    locked.getWriter();
    abandonOutput(locked, reason);
    expect(abort).toHaveBeenCalledTimes(1);
  });

  test('is ignored if it is something else, and so is its failure', () => {
    abandonOutput('a path', reason);
    abandonOutput(noting({ abort: () => Promise.reject(new Error('no')) }), reason);
  });
});
