// The calls of a conversion to its workers, sources and target, their order, and its end after a failure.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeWorkers } from '../client-side/fake-workers.test-support.js';
import type { ImageSetup } from '../client-side/image-session.js';
import { ImageSessions, LayerPasswords } from '../client-side/image-sessions.js';
import { acquirePool } from '../client-side/pool.js';
import { endAllWorkers } from '../client-side/warm.js';
import { DecantError } from '../errors/errors.js';
import type { Converted, ConvertRequest } from '../messages/coordinator.js';
import type { SettledOptions } from '../public/caller-types.js';
import type { OutputTarget } from '../targets/output-target.js';
import type { ConversionContext } from './conversion-disks.js';
import { convertInto } from './conversion-run.js';
import { infoOf } from './info.test-support.js';
import type { Platform } from './platform.js';

const SIZE = 4096;

/** The events, in order. */
let log: string[];
let workers: FakeWorkers;
/** The bytes of the disk that the coordinator says are done. */
let guestDone: number;
let request: ConvertRequest;
/** Failures of a method, by its name. */
let failures: Record<string, DecantError>;
/** Whether the files of the image have changed. */
let changed: DecantError | undefined;

const event = (name: string): void => {
  log.push(name);
  const failure = failures[name];
  if (failure) throw failure;
};

function converted(): Converted {
  const settled = { guest: 0, written: 0 };
  const progress = { guestDone, latest: { start: 0, end: 0 }, dataDone: 0, read: 7, written: SIZE, settled };
  const lost = [{ offset: 512, length: 512, code: 'lost', message: 'it is damaged' }];
  const notices = [{ code: 'disk-grows', fields: {}, message: 'It grows' }];
  const digest = request.digest && { digest: { hash: 'ab', size: 3 } };
  const disk = {
    virtualSize: SIZE,
    diskSize: SIZE,
    rewritten: [],
    notices,
    lost,
    lostRanges: 1,
    lostBytes: 512,
    ...digest,
  };
  return {
    progress: { ...progress, measuring: false, finalizing: false },
    outputSize: SIZE,
    disks: request.disks.map(() => disk),
    sums: [],
  };
}

beforeEach(() => {
  [log, guestDone, failures, changed] = [[], SIZE, {}, undefined];
  workers = new FakeWorkers({
    startCoordinator: () => {},
    startPoolWorker: () => {},
    connect: () => {},
    disconnect: () => {},
    open: () => ({ image: 7, info: infoOf({ virtualSize: SIZE, fileSize: SIZE }), formats: [], members: [] }),
    output: (_image: number, name: string) => ({ name, size: SIZE, hasFooter: false, resumable: true }),
    convert: (given: ConvertRequest) => {
      request = given;
      event('convert');
      return converted();
    },
    complete: () => event('complete'),
    abandon: () => event('abandon'),
    cancel: () => {},
    close: () => {},
  });
});
afterEach(endAllWorkers);

const target: OutputTarget = {
  prepare: async () => {
    event('prepare');
    return {} as never;
  },
  verify: async () => event('verify'),
  commit: async (size) => event(`commit ${size}`),
  discard: async (reason, keep) => event(`discard: ${reason.kind}${keep ? ', kept' : ''}`),
  resumes: true,
};

/** Converts an image whose files have states, so that it can be resumed, into `target`, perhaps with a second disk. */
async function convert(options: SettledOptions = {}, withSecond = false): Promise<unknown> {
  const sources = {
    all: [{ state: 'one' }],
    companions: [],
    networks: [],
    unnoticed: [],
    expect: false,
    lend: () => ({ ports: [], image: {}, cancel: () => {}, end: () => {}, explain: (error: DecantError) => error }),
    confirm: async () => event('confirm the sources'),
    verify: async () => {
      if (changed) throw changed;
    },
  };
  const engine = { engine: 'workers', engineReason: '', workers: 2 };
  const setup = { starter: workers.starter, sources, settings: {}, ...engine } as unknown as ImageSetup;
  const sessions = await ImageSessions.open(setup, new LayerPasswords({}), undefined);
  const platform = { memoryPerWorker: 32 << 20 } as Platform;
  const context: ConversionContext = { platform, setup, sessions, info: { ...sessions.info, name: 'disk.qcow2' } };
  const more = withSecond ? [{ ...context, info: { ...context.info, name: 'vm/data.vmdk' } }] : [];
  return convertInto(target, { ...context, more }, options).catch((error: unknown) => error);
}

test('the target is completed after the sources are confirmed', async () => {
  expect(await convert()).toMatchObject({ virtualSize: SIZE, outputSize: SIZE, bytesRead: 7, bytesWritten: SIZE });
  expect(log).toEqual(['prepare', 'convert', 'confirm the sources', 'verify', 'complete', `commit ${SIZE}`]);
});

describe('digests', () => {
  const lost = [{ offset: 512, length: 512, code: 'lost', message: 'it is damaged' }];
  const digest = { sha256: 'ab', size: 3, lost, lostRanges: 1, lostBytes: 512 };

  test('of a disk, with its lost ranges', async () => {
    expect(await convert({ digest: true })).toMatchObject({ digest });
    expect(request.digest).toBe('sha256');
  });

  test('of two disks', async () => {
    guestDone = 2 * SIZE;
    const result = await convert({ digest: true }, true);
    expect(result).toMatchObject({ digests: [digest, digest] });
    expect(result).not.toHaveProperty('digest');
  });

  test('that are not wanted', async () => {
    const result = await convert();
    expect(request.digest).toBeUndefined();
    expect(Object.keys(result as object)).not.toContain('digest');
  });
});

describe('a second disk', () => {
  beforeEach(() => {
    guestDone = 2 * SIZE;
  });

  test('is opened in the same coordinator, and its sources are confirmed, too', async () => {
    await convert({}, true);
    expect(log).toEqual([
      'prepare',
      'convert',
      'confirm the sources',
      'confirm the sources',
      'verify',
      'complete',
      `commit ${SIZE}`,
    ]);
    expect(workers.started).toHaveLength(1);
    expect(request).toMatchObject({ disks: [{ image: 7 }, { image: 7 }], workers: 2 });
  });

  test('is named in the result', async () => {
    expect(await convert({}, true)).toMatchObject({
      virtualSize: 2 * SIZE,
      lost: [{ disk: 1 }, { disk: 2, offset: 512 }],
      lostRanges: 2,
      lostBytes: 1024,
      notices: [
        { code: 'disk-grows', fields: { disk: 'disk.qcow2' }, message: "'disk.qcow2', disk 1 of 2: It grows" },
        { code: 'disk-grows', fields: { disk: 'data.vmdk' }, message: "'data.vmdk', disk 2 of 2: It grows" },
      ],
      engineReason: 'several disks',
    });
  });

  test('is named in its failure', async () => {
    const fields = { diskNumber: 2, offset: 7 };
    failures.convert = new DecantError('corrupt', 'It is damaged', { code: 'damaged', fields });
    const error = (await convert({}, true)) as DecantError;
    expect(error).toMatchObject({ kind: 'corrupt', message: "'data.vmdk', disk 2 of 2: It is damaged" });
    expect(error.fields).toEqual({ offset: 7, disk: 'data.vmdk' });
  });

  test('that was left out is a failure', async () => {
    guestDone = SIZE;
    expect(await convert({}, true)).toMatchObject({ kind: 'internal', message: 'A part of the disk was left out' });
  });
});

test('a part of the disk that was left out is a failure', async () => {
  guestDone = SIZE - 512;
  expect(await convert()).toMatchObject({ kind: 'internal', message: 'A part of the disk was left out' });
  expect(log).toEqual(['prepare', 'convert', 'abandon', 'discard: internal']);
});

describe('a failure', () => {
  test.each([
    ['prepare', 'target', ['prepare', 'discard: target']],
    ['convert', 'corrupt', ['prepare', 'convert', 'discard: corrupt']],
    ['confirm the sources', 'source', ['prepare', 'convert', 'confirm the sources', 'abandon', 'discard: source']],
    ['verify', 'target', ['prepare', 'convert', 'confirm the sources', 'verify', 'abandon', 'discard: target']],
    ['complete', 'target', ['prepare', 'convert', 'confirm the sources', 'verify', 'complete', 'discard: target']],
    [
      `commit ${SIZE}`,
      'target',
      ['prepare', 'convert', 'confirm the sources', 'verify', 'complete', `commit ${SIZE}`, 'discard: target'],
    ],
  ] as const)('of "%s" discards the output', async (name, kind, events) => {
    failures[name] = new DecantError(kind, 'failed');
    expect(await convert()).toMatchObject({ kind, message: 'failed' });
    expect(log).toEqual(events);
  });

  test.each(['corrupt', 'source'] as const)('of kind %s is reported as the change of a file', async (kind) => {
    failures.convert = new DecantError(kind, 'failed');
    changed = new DecantError('source', 'the file has changed');
    expect(await convert()).toMatchObject({ kind: 'source', message: 'the file has changed' });
  });

  test('of kind target is not', async () => {
    failures.convert = new DecantError('target', 'failed');
    changed = new DecantError('source', 'the file has changed');
    expect(await convert()).toMatchObject({ kind: 'target' });
  });

  test.each([
    ['internal', false],
    ['corrupt', true],
  ] as const)('of kind %s: the next conversion has the same pool: %s', async (kind, same) => {
    const pool = acquirePool(workers.starter, 'workers', 2);
    failures.convert = new DecantError(kind, 'failed');
    await convert();
    expect(pool.usable).toBe(same);
    pool.release(true);
  });
});

describe('with resume, progress', () => {
  test.each([
    ['source', undefined, ', kept'],
    ['target', undefined, ', kept'],
    ['internal', undefined, ', kept'],
    // The data cannot be trusted.
    ['corrupt', undefined, ''],
    ['limit', undefined, ''],
    // To resume would continue with another image.
    ['target', new DecantError('source', 'the file has changed'), ''],
  ] as const)('after a failure of kind %s, change of a file: %s, is left%s', async (kind, change, kept) => {
    failures.convert = new DecantError(kind, 'failed');
    changed = change;
    await convert({ resume: true });
    expect(log.at(-1)).toBe(`discard: ${kind}${kept}`);
  });

  test('is not left without resume', async () => {
    failures.convert = new DecantError('source', 'failed');
    await convert();
    expect(log.at(-1)).toBe('discard: source');
  });
});

test('what the target cannot remove is added to the reason', async () => {
  failures.convert = new DecantError('corrupt', 'the disk is damaged', { code: 'truncated' });
  failures['discard: corrupt'] = new DecantError('target', 'a part stays', { fields: { leftAt: '/a' } });
  expect(await convert()).toMatchObject({
    kind: 'corrupt',
    code: 'truncated',
    message: 'the disk is damaged; a part stays',
    fields: { leftAt: '/a', reason: 'the disk is damaged', left: 'a part stays' },
  });
});

test('a conversion that was cancelled before does not begin', async () => {
  expect(await convert({ signal: AbortSignal.abort() })).toMatchObject({ kind: 'cancelled' });
  expect(log).toEqual(['discard: cancelled']);
});
