// Progress reports: their rate, speed and remaining time.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CrateProgress } from '../messages/coordinator.js';
import type { Network, Progress } from '../public/types.js';
import { Meter } from './progress.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const MIB = 1 << 20;
const TOTAL = 100 * MIB;

/** Progress with `done` bytes of the disk finished and as many bytes of the file read. */
const at = (mib: number, changes: Partial<CrateProgress> = {}): CrateProgress => ({
  guestDone: mib * MIB,
  guestTotal: TOTAL,
  measuring: false,
  latest: { start: 0, end: 0 },
  dataDone: mib * MIB,
  read: mib * MIB,
  written: mib * MIB,
  settled: { guest: 0, written: 0 },
  finalizing: false,
  ...changes,
});

/** A meter and its reports. */
function begin(
  given: {
    total?: number | undefined;
    fileSize?: number | undefined;
    networks?: Network[];
    sending?: boolean;
    verifying?: boolean;
  } = {},
) {
  const { total, fileSize, networks } = { total: TOTAL, fileSize: TOTAL, networks: [], ...given };
  const { sending = false, verifying = false } = given;
  const reports: Progress[] = [];
  const meter = new Meter(
    total,
    fileSize,
    () => networks,
    (progress) => reports.push(progress),
    undefined,
    { sending, verifying },
  );
  return { meter, reports };
}
const passed = (milliseconds: number) => vi.advanceTimersByTime(milliseconds);

describe('reports', () => {
  test('begin at once', () => {
    const { reports } = begin();
    expect(reports).toEqual([
      {
        phase: 'preparing',
        fraction: 0,
        unlocked: 0,
        guestDone: 0,
        guestTotal: TOTAL,
        cells: new Uint8Array(4096),
        dataDone: 0,
        bytesRead: 0,
        bytesWritten: 0,
        bytesPerSecond: 0,
      },
    ]);
  });

  test('come at most every 100 ms, but for a new phase at once', () => {
    const { meter, reports } = begin();
    meter.update(at(1));
    expect(reports).toHaveLength(2);
    for (let tenth = 0; tenth < 10; tenth += 1) {
      passed(10);
      meter.update(at(1));
      expect(reports).toHaveLength(tenth < 9 ? 2 : 3);
    }
    meter.update(at(1, { finalizing: true }));
    expect(reports.map(({ phase }) => phase)).toEqual(['preparing', 'converting', 'converting', 'finalizing']);
  });

  test('that are too early are sent later, once, with the latest values', () => {
    const { meter, reports } = begin();
    meter.update(at(1));
    passed(10);
    meter.update(at(2));
    passed(10);
    meter.update(at(3));
    passed(79);
    expect(reports).toHaveLength(2);
    passed(1);
    expect(reports).toHaveLength(3);
    expect(reports.at(-1)!.guestDone).toBe(3 * MIB);
    passed(10_000);
    expect(reports).toHaveLength(3);
  });

  test('that are too early are dropped after the end and after a new phase', () => {
    const { meter, reports } = begin();
    meter.update(at(1));
    meter.update(at(2));
    meter.update(at(3, { finalizing: true }));
    passed(1000);
    expect(reports.map(({ guestDone }) => guestDone)).toEqual([0, MIB, 3 * MIB]);
    meter.update(at(3, { finalizing: true, written: 4 }));
    meter.end();
    passed(1000);
    expect(reports).toHaveLength(4);
  });

  test('of unlocking come at most every 100 ms too', () => {
    const { meter, reports } = begin();
    meter.unlocking(0.1);
    passed(99);
    meter.unlocking(0.2);
    expect(reports).toHaveLength(2);
    passed(1);
    passed(100);
    meter.unlocking(0.3);
    expect(reports.map(({ phase, unlocked }) => [phase, unlocked])).toEqual([
      ['preparing', 0],
      ['unlocking', 0.1],
      ['unlocking', 0.2],
      ['unlocking', 0.3],
    ]);
  });

  test('include resumed progress', () => {
    const { meter, reports } = begin();
    meter.begin({ guest: 50 * MIB, written: 10 * MIB });
    meter.unlocking(0);
    expect(reports.at(-1)).toMatchObject({ guestDone: 50 * MIB, bytesWritten: 10 * MIB });
    expect(reports.at(-1)!.cells!.filter((cell) => cell === 1)).toHaveLength(2048);
  });

  test('fill cells with finished parts', () => {
    const { meter, reports } = begin();
    meter.update(at(50, { latest: { start: 50 * MIB, end: TOTAL } }));
    const { cells } = reports.at(-1)!;
    expect([...cells!.subarray(0, 2048)].includes(1)).toBe(false);
    expect([...cells!.subarray(2048)].includes(0)).toBe(false);
  });

  test('of a disk of unknown size have no cells and no total', () => {
    const { meter, reports } = begin({ total: undefined });
    const { guestTotal: _, ...progress } = at(1);
    meter.update(progress);
    for (const one of reports) {
      expect(one).not.toHaveProperty('cells');
      expect(one).not.toHaveProperty('guestTotal');
    }
  });
});

describe('the fraction', () => {
  const { guestTotal: _, ...inOrder } = at(0);
  const fractionOf = (given: Parameters<typeof begin>[0], last: (meter: Meter) => void) => {
    const { meter, reports } = begin(given);
    last(meter);
    return reports.at(-1)!.fraction;
  };

  test('follows the disk', () => {
    expect(fractionOf({}, (meter) => meter.update(at(25)))).toBe(0.25);
    expect(fractionOf({}, (meter) => meter.update(at(100)))).toBe(1);
  });

  test('starts with the progress of an earlier conversion', () => {
    const resumed = (meter: Meter) => {
      meter.begin({ guest: 50 * MIB, written: 0 });
      meter.update(at(50));
    };
    expect(fractionOf({}, resumed)).toBe(0.5);
  });

  test('follows the file if the size of the disk is unknown', () => {
    const progress = { ...inOrder, guestDone: 500 * MIB, read: 10 * MIB };
    expect(fractionOf({ total: undefined, fileSize: 40 * MIB }, (meter) => meter.update(progress))).toBe(0.25);
    expect(fractionOf({ total: undefined, fileSize: 8 * MIB }, (meter) => meter.update(progress))).toBe(1);
  });

  test('is whole for an empty disk', () => {
    expect(fractionOf({ total: 0 }, (meter) => meter.update(at(0, { guestTotal: 0 })))).toBe(1);
  });

  test('counts an unlocking as a twentieth of a pass', () => {
    expect(fractionOf({}, (meter) => meter.unlocking(0.3))).toBeCloseTo((0.05 * 0.3) / 1.05);
    const unlocked = (meter: Meter) => {
      meter.unlocking(1);
      meter.update(at(50));
    };
    expect(fractionOf({}, unlocked)).toBeCloseTo(0.55 / 1.05);
  });

  // (what, the passes after converting, what happens, the fractions)
  test.each<[what: string, after: object, steps: ((meter: Meter) => void)[], seen: number[]]>([
    [
      'one pass',
      {},
      [(meter) => meter.update(at(50)), (meter) => meter.update(at(100, { finalizing: true }))],
      [0.5, 1],
    ],
    [
      'two passes over the image',
      {},
      [
        (meter) => meter.update(at(50, { measuring: true })),
        (meter) => meter.update(at(0)),
        (meter) => meter.update(at(100, { finalizing: true })),
      ],
      [0.25, 0.5, 1],
    ],
    [
      'an output that is sent',
      { sending: true },
      [(meter) => meter.update(at(50)), (meter) => meter.sending(10, 40), (meter) => meter.sent()],
      [0.25, 0.625, 1],
    ],
    [
      'an output that is read back when it has its name',
      { verifying: true },
      [
        (meter) => meter.update(at(50)),
        (meter) => meter.update(at(100, { finalizing: true })),
        (meter) => meter.verifying(50, 100),
        (meter) => meter.sent(),
      ],
      [0.25, 0.5, 0.75, 1],
    ],
    [
      'an output that is sent and read back',
      { sending: true, verifying: true },
      [
        (meter) => meter.update(at(50)),
        (meter) => meter.sending(20, 40),
        (meter) => meter.verifying(50, 100),
        (meter) => meter.sent(),
      ],
      [0.5 / 3, 0.5, 2.5 / 3, 1],
    ],
  ])('joins the passes: %s', (_, after, steps, seen) => {
    const { meter, reports } = begin(after);
    const found = steps.map((step) => {
      step(meter);
      return reports.at(-1)!.fraction;
    });
    expect(found).toEqual(seen.map((share) => expect.closeTo(share)));
  });

  test('is missing if both sizes are unknown', () => {
    const stream = { total: undefined, fileSize: undefined };
    expect(fractionOf(stream, (meter) => meter.update({ ...inOrder, read: 10 * MIB }))).toBeUndefined();
  });
});

describe('speed and time left', () => {
  test('are of the last three seconds', () => {
    const { meter, reports } = begin();
    // Ten MiB a second, and then one.
    for (let second = 0; second <= 5; second += 1) {
      meter.update(at(10 * second));
      passed(1000);
    }
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: 10 * MIB, secondsLeft: expect.closeTo(5) });
    for (let second = 1; second <= 4; second += 1) {
      meter.update(at(50 + second));
      passed(1000);
    }
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: MIB, secondsLeft: expect.closeTo(46) });
  });

  test('are unknown at first', () => {
    const { meter, reports } = begin();
    meter.update(at(10));
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: 0 });
    expect(reports.at(-1)).not.toHaveProperty('secondsLeft');
  });

  test('do not count the progress of an earlier conversion', () => {
    const { meter, reports } = begin();
    meter.begin({ guest: 50 * MIB, written: 0 });
    meter.update(at(50));
    passed(1000);
    meter.update(at(60));
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: 10 * MIB, secondsLeft: expect.closeTo(4) });
  });

  test('cover a stall: the last two marks stay', () => {
    const { meter, reports } = begin();
    meter.update(at(0));
    passed(60_000);
    meter.update(at(60));
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: MIB, secondsLeft: expect.closeTo(40) });
  });

  test('follow the file if the size of the disk is unknown', () => {
    const { meter, reports } = begin({ total: undefined, fileSize: 40 * MIB });
    const { guestTotal: _, ...nothing } = at(0);
    meter.update(nothing);
    passed(1000);
    meter.update({ ...nothing, guestDone: 100 * MIB, read: 10 * MIB });
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: 100 * MIB, secondsLeft: expect.closeTo(3) });
  });

  test('are missing if both sizes are unknown', () => {
    const { meter, reports } = begin({ total: undefined, fileSize: undefined });
    const { guestTotal: _, ...nothing } = at(0);
    meter.update(nothing);
    passed(1000);
    meter.update({ ...nothing, guestDone: 100 * MIB, read: 10 * MIB });
    expect(reports.at(-1)).not.toHaveProperty('secondsLeft');
  });

  test('are not made up while a server is waited for', () => {
    const networks: Network[] = [{ received: 0, sent: 0, retries: 0, silence: 0 }];
    const { meter, reports } = begin({ networks });
    meter.update(at(0));
    passed(1000);
    meter.update(at(10));
    networks[0] = { ...networks[0]!, retries: 1, silence: 5, waiting: { host: 'host', status: 503, attempt: 2 } };
    passed(5000);
    expect(reports.at(-1)).toMatchObject({ bytesPerSecond: 0, waiting: { host: 'host' } });
    expect(reports.at(-1)).not.toHaveProperty('secondsLeft');
    networks[0] = { received: 1, sent: 0, retries: 1, silence: 0 };
    meter.update(at(60));
    passed(100);
    const { bytesPerSecond, secondsLeft } = reports.at(-1)!;
    expect([bytesPerSecond! / MIB, secondsLeft]).toEqual([expect.closeTo(9.8, 1), expect.closeTo(4.08, 1)]);
  });

  test('are missing while the output is finalized', () => {
    const { meter, reports } = begin();
    meter.update(at(0));
    passed(1000);
    meter.update(at(99, { finalizing: true }));
    expect(reports.at(-1)).not.toHaveProperty('secondsLeft');
  });
});

describe('networks', () => {
  test('are summed, except for silence', () => {
    const networks = [
      { received: 1, sent: 2, retries: 3, silence: 4 },
      { received: 10, sent: 20, retries: 30 },
      { received: 0, sent: 0, retries: 0, silence: 5 },
    ];
    const { reports } = begin({ networks });
    expect(reports[0]!.network).toEqual({ received: 11, sent: 22, retries: 33, silence: 5 });
  });

  test('are reported every second while they send or fail and nothing else happens', () => {
    const network = { received: 0, sent: 0, retries: 0, silence: 0 };
    const { meter, reports } = begin({ networks: [network] });
    passed(3000);
    expect(reports).toHaveLength(1);
    network.silence = 1;
    passed(999);
    expect(reports).toHaveLength(1);
    passed(1);
    expect(reports.at(-1)!.network).toEqual({ received: 0, sent: 0, retries: 0, silence: 1 });
    network.silence = 0;
    passed(5000);
    expect(reports).toHaveLength(3);
    expect(reports.at(-1)!.network).toEqual({ received: 0, sent: 0, retries: 0, silence: 0 });
    network.sent = 5;
    passed(5000);
    expect(reports).toHaveLength(4);
    network.sent = 6;
    meter.end();
    passed(5000);
    expect(reports).toHaveLength(4);
  });
});

test('the time of each phase is measured', () => {
  const { meter } = begin();
  passed(1);
  meter.unlocking(0);
  passed(20);
  meter.update(at(1));
  passed(300);
  meter.update(at(2));
  passed(300);
  meter.update(at(100, { finalizing: true }));
  passed(4000);
  expect(meter.phase).toBe('finalizing');
  expect(meter.end()).toEqual({
    preparing: expect.closeTo(0.001),
    unlocking: expect.closeTo(0.02),
    measuring: 0,
    converting: expect.closeTo(0.6),
    sending: 0,
    verifying: 0,
    finalizing: expect.closeTo(4),
  });
});

test('a first pass has a phase of its own, and its time left includes the second pass', () => {
  const { meter, reports } = begin();
  const last = () => reports.at(-1)!;
  const first = { measuring: true };
  meter.update(at(0, first));
  passed(1000);
  meter.update(at(25, { ...first, latest: { start: 0, end: 25 * MIB } }));
  passed(200);
  expect(last()).toMatchObject({ phase: 'measuring', fraction: 0.125 });
  expect(last().secondsLeft).toBeCloseTo(7, 0);
  expect(last().cells!.includes(1)).toBe(false);
  meter.update(at(0, { latest: { start: 0, end: 0 } }));
  passed(200);
  expect(last()).toMatchObject({ phase: 'converting', fraction: 0.5, bytesPerSecond: 0 });
});

test('sending has a speed and a time left, which are unknown before', () => {
  const { meter, reports } = begin({ sending: true });
  meter.update(at(50));
  passed(200);
  meter.update(at(100));
  expect(reports.at(-1)).not.toHaveProperty('secondsLeft');
  meter.sending(0, 40 * MIB);
  expect(reports.at(-1)).toMatchObject({ phase: 'sending', fraction: 0.5, bytesPerSecond: 0, guestDone: TOTAL });
  passed(1000);
  meter.sending(10 * MIB, 40 * MIB);
  expect(reports.at(-1)).toMatchObject({ fraction: 0.625, bytesPerSecond: 10 * MIB, secondsLeft: expect.closeTo(3) });
  passed(1000);
  meter.sent();
  expect(reports.at(-1)!.phase).toBe('finalizing');
  expect(reports.at(-1)).toMatchObject({ fraction: 1 });
  expect(meter.end()).toMatchObject({ converting: expect.closeTo(0.2), sending: expect.closeTo(2) });
});
