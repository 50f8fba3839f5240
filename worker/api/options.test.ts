import { describe, expect, test } from 'vitest';
import type { OpenOptions } from '../public/caller-types.js';
import type { FormatOptionValue } from '../public/types.js';
import {
  checkCall,
  checkConversion,
  checkObject,
  checkOpening,
  settle,
  settleFormatOptions,
  settleMemory,
  settleSize,
} from './options.js';
import type { Platform } from './platform.js';

const MIB = 1 << 20;
const platform = (changes: Partial<Platform> = {}) =>
  ({ cores: 4, noThreads: undefined, memoryPerWorker: 16 * MIB, ...changes }) as Platform;
const usage = (message: string) => expect.objectContaining({ kind: 'usage', message });

class Options {
  get signal(): never {
    throw new Error('a');
  }
}

test('an option that cannot be read is refused', () => {
  const own = {
    get inputFormat(): never {
      throw new Error('a');
    },
  };
  for (const options of [own, new Options()]) {
    expect(() => checkOpening(options)).toThrow(usage('Could not read the options of open: a'));
  }
});

test.for([5, 'base.qcow2', null])('companions %o are refused', (companions) => {
  expect(() => checkOpening({ companions } as unknown as OpenOptions)).toThrow(usage("'companions' must be an array"));
});

test.for([0, -1, 1.5, Number.NaN, 2 ** 53, null, true, {}])('disk %o is refused', (disk) => {
  const message = "'disk' must be a string or a whole number from 1";
  expect(() => checkOpening({ disk } as unknown as OpenOptions)).toThrow(usage(message));
});

test.for([1, 'a.vmdk', '', undefined])('disk %o is accepted', (disk) => {
  checkOpening(disk === undefined ? {} : { disk });
});

describe('workers', () => {
  test.each([
    [undefined, 1, 1],
    [undefined, 8, 8],
    [undefined, 9, 8],
    [undefined, 128, 8],
    [1, 4, 1],
    [64, 4, 64],
  ])('%s on %i cores: %i', (workers, cores, expected) => {
    expect(settle(workers === undefined ? {} : { workers }, platform({ cores })).workers).toBe(expected);
  });

  test.each([0, 65, 1.5, -1, Number.NaN, '2'])('%j is refused', (workers) => {
    const message = `'workers' is ${workers}, but must be a whole number from 1 to 64`;
    expect(() => settle({ workers: workers as number }, platform())).toThrow(usage(message));
  });
});

describe('engine', () => {
  test.each([
    [undefined, 'workers', 'the faster engine'],
    ['auto', 'workers', 'the faster engine'],
    ['workers', 'workers', 'requested'],
    ['threads', 'threads', 'requested'],
  ] as const)('%s', (engine, expected, engineReason) => {
    expect(settle(engine === undefined ? {} : { engine }, platform())).toMatchObject({
      engine: expected,
      engineReason,
    });
  });

  test('threads that cannot run', () => {
    const message = 'The threads engine cannot run: the page is not isolated';
    expect(() => settle({ engine: 'threads' }, platform({ noThreads: 'the page is not isolated' }))).toThrow(
      usage(message),
    );
  });

  test('an unknown engine', () => {
    const message = "There is no engine 'turbo'; choose auto, threads or workers";
    expect(() => settle({ engine: 'turbo' as 'auto' }, platform())).toThrow(usage(message));
  });
});

describe('memory', () => {
  test.each([
    ['at least 32 MiB', 1, false, 32],
    ['by the workers', 4, false, 64],
    ['by the workers, plus read-ahead', 4, true, 96],
    ['at least 32 MiB, plus read-ahead', 1, true, 64],
    ['at most 2 GiB', 64, true, 64 * 16 + 32],
  ])('%s', (_, workers, readsAhead, mib) => {
    expect(settleMemory({}, workers, platform(), readsAhead)).toBe(mib * MIB);
  });

  test('at most 2 GiB by default', () => {
    expect(settleMemory({}, 64, platform({ memoryPerWorker: 64 * MIB }), true)).toBe(2048 * MIB);
  });

  test.each([32 * MIB, 2048 * MIB])('of %i bytes is accepted', (memory) => {
    expect(settleMemory({ memory }, 4, platform(), true)).toBe(memory);
  });

  test.each([0, 32 * MIB - 1, 2048 * MIB + 1, 33.5 * MIB + 0.5, '64'])('of %j bytes is refused', (memory) => {
    const message = `'memory' is ${memory}, but must be a whole number from ${32 * MIB} to ${2048 * MIB} bytes`;
    expect(() => settleMemory({ memory: memory as number }, 4, platform(), false)).toThrow(usage(message));
  });
});

describe('arguments of callers without TypeScript', () => {
  test.each([null, undefined, 7, 'text'])('options that are %j', (options) => {
    expect(() => checkObject('options', options)).toThrow(usage("'options' must be an object"));
  });

  test.each([{}, 'text', 7])('a signal that is %j', (signal) => {
    expect(() => checkCall('map', { signal })).toThrow(usage("'signal' must be an AbortSignal"));
  });

  test('a signal', () => {
    checkCall('map', { signal: new AbortController().signal });
    checkCall('map', {});
  });

  test.each([
    ['open', { sync: true }, []],
    ['prepare', { signal: undefined, format: 'raw' }, []],
    ['unlock', { password: 'x' }, []],
    ['map', { onProgress: () => {} }, []],
    ['digest', { deep: true }, []],
    ['read', { start: 0 }, []],
    ['readable', { start: 1 }, []],
    ['convert', { engine: 'workers' }, ['sync']],
    ['convert', { sync: true }, []],
  ] as const)('%s with an option that it has not: %j', (call, options, more) => {
    expect(() => checkCall(call, options, more)).toThrow(expect.objectContaining({ code: 'unknown-option' }));
  });

  test('options of this platform', () => {
    checkCall('convert', { sync: true, resume: true }, ['sync']);
  });

  test.each(['inputFormat', 'name', 'snapshot'])('a %s that is a number', (name) => {
    expect(() => checkOpening({ [name]: 7 })).toThrow(usage(`'${name}' must be a string`));
    checkOpening({ [name]: 'text' });
  });

  test.each(['allowUrl', 'fetch'])('an option %s that is not a function', (name) => {
    for (const value of [7, 0, false, null, {}]) {
      expect(() => checkOpening({ [name]: value })).toThrow(usage(`'${name}' must be a function`));
    }
    checkOpening({ [name]: () => true });
  });

  test.each([
    'assumePassword',
    'checkManifest',
    'forceParent',
    'salvage',
    'unpack',
  ])('an option %s that is not true or false', (name) => {
    for (const value of [1, 1n, null, 'yes', () => {}]) {
      expect(() => checkOpening({ [name]: value })).toThrow(usage(`'${name}' must be true or false`));
    }
    checkOpening({ [name]: true });
  });

  test.each([7, null, {}, ['a']])('a password that is %j', (password) => {
    const message = "'password' must be a string, a Uint8Array or a function";
    expect(() => checkOpening({ password: password as unknown as string })).toThrow(usage(message));
  });

  test.each(['text', new Uint8Array(3), () => undefined])('a valid password: %s', (password) => {
    checkOpening({ password: password as string });
  });
});

test.each([
  [undefined, {}],
  [1, { size: 512 }],
  [512, { size: 512 }],
  [2 ** 40 + 1, { size: 2 ** 40 + 512 }],
])('size %s', (size, expected) => {
  expect(settleSize(size === undefined ? {} : { size })).toEqual(expected);
});

test.each([0, -1, 1.5, Number.NaN, 2 ** 53, '5', null, true])('size %o is refused', (size) => {
  expect(() => settleSize({ size: size as number })).toThrow(expect.objectContaining({ kind: 'usage' }));
});

test.each([
  [{ disks: 'a' }, "'disks' must be an array"],
  [{ disks: [{}], size: 1 }, "'size' is for one disk: leave out 'disks', or state one disk (--disk)"],
])('%j is refused', (options, message) => {
  expect(() => checkConversion('a', options as object, [])).toThrow(usage(message));
});

test.each(['digest', 'fixGpt'])('%s is a boolean', (name) => {
  const check = () => checkConversion('a', { [name]: 'yes' } as object, []);
  expect(check).toThrow(usage(`'${name}' must be true or false`));
});

test('a digest of a conversion that may be resumed is refused', () => {
  checkConversion('a', { digest: true, resume: false }, []);
  expect(() => checkConversion('a', { digest: true, resume: true }, [])).toThrow(
    expect.objectContaining({ kind: 'usage' }),
  );
});

test.each([
  [{ bmap: true }, false],
  [{ bmap: true, format: 'raw', for: 'kvm' }, false],
  [{ bmap: true, format: 'qcow2' }, true],
  [{ bmap: true, for: 'kvm' }, true],
])('a bmap with %o is refused: %s', (options, isRefused) => {
  const check = () => checkConversion('a', options, ['bmap']);
  if (isRefused) expect(check).toThrow(usage("'bmap' needs a raw disk as the output (format 'raw')"));
  else check();
});

describe('options of an output format', () => {
  test.each<[given: Record<string, FormatOptionValue | undefined> | undefined, expected: Record<string, string>]>([
    [undefined, {}],
    [{}, {}],
    [{ cluster_size: '64k' }, { cluster_size: '64k' }],
    [{ cluster_size: 65536 }, { cluster_size: '65536' }],
    [
      { compress: true, static: false },
      { compress: 'on', static: 'off' },
    ],
    [{ compress: undefined, cpus: 4 }, { cpus: '4' }],
    // The core refuses them, as it refuses other values.
    [
      { cpus: 1.5, memory: Number.NaN },
      { cpus: '1.5', memory: 'NaN' },
    ],
  ])('%o are %o', (formatOptions, expected) => {
    expect(settleFormatOptions({ formatOptions })).toEqual(expected);
  });

  test('no name has a meaning of its own', () => {
    const formatOptions = JSON.parse('{ "__proto__": "x" }');
    expect(Object.entries(settleFormatOptions({ formatOptions }))).toEqual([['__proto__', 'x']]);
  });

  test.each([new Map([['compress', 'on']]), ['compress']])('%o is refused', (given) => {
    const formatOptions = given as unknown as Record<string, string>;
    expect(() => settleFormatOptions({ formatOptions })).toThrow(usage("'formatOptions' must be a plain object"));
  });

  test.each([null, {}, [], 1n, Symbol('a'), () => 'on'])('the value %o is refused', (value) => {
    const formatOptions = { compress: value } as unknown as Record<string, string>;
    const message = "The option 'compress' must be a string, a number, true or false";
    expect(() => settleFormatOptions({ formatOptions })).toThrow(usage(message));
  });
});
