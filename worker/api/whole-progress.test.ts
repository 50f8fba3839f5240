import { describe, expect, test } from 'vitest';
import type { Progress } from '../public/types.js';
import { asPhase, Runs, withProgress } from './whole-progress.js';

const report = (fraction?: number, more: Partial<Progress> = {}): Progress => ({
  phase: 'converting',
  ...(fraction !== undefined && { fraction }),
  ...more,
});

describe('a call', () => {
  // (what, the fractions that its work reports, those that the caller gets, in hundredths)
  test.each<[what: string, reported: (number | undefined)[], seen: (number | undefined)[]]>([
    ['without reports', [], []],
    ['with one pass', [0, 0.5, 1], [0, 49.5, 99, 100]],
    ['whose work grows', [0.5, 0.25, 0.4, 0.6], [49.5, 49.5, 49.5, 59.4, 100]],
    ['whose work is estimated too low', [0.5, 2], [49.5, 99, 100]],
    ['of unknown size', [undefined, undefined], [undefined, undefined, 100]],
    ['whose size becomes known', [undefined, 0.5, undefined], [undefined, 49.5, 49.5, 100]],
  ])('%s', async (_, reported, seen) => {
    const reports: Progress[] = [];
    const result = await withProgress(
      (progress) => reports.push(progress),
      async (listener) => {
        for (const fraction of reported) listener(report(fraction, { secondsLeft: 5 }));
        return 7;
      },
    );
    expect(result).toBe(7);
    expect(reports.map(({ fraction }) => fraction)).toEqual(
      seen.map((share) => (share === undefined ? undefined : share === 100 ? 1 : expect.closeTo(share / 100))),
    );
    expect(reports.at(-1) ?? {}).not.toHaveProperty('secondsLeft');
  });

  test('that fails does not reach 1', async () => {
    const reports: Progress[] = [];
    const failing = withProgress(
      (progress) => reports.push(progress),
      async (listener) => {
        listener(report(1));
        throw new Error('no');
      },
    );
    await expect(failing).rejects.toThrow('no');
    expect(reports).toEqual([report(0.99)]);
  });

  test.each([
    () => {
      throw new Error('no');
    },
    () => Promise.reject(new Error('no')),
  ])('a listener that fails at the end fails nothing', async (listener) => {
    expect(await withProgress(listener, async () => 7)).toBe(7);
  });

  test('without a listener', async () => {
    expect(await withProgress(undefined, async (listener) => listener(report(1)))).toBeUndefined();
  });
});

describe('runs', () => {
  const begin = () => {
    const reports: Progress[] = [];
    return { reports, runs: new Runs((progress) => reports.push(progress)) };
  };

  test('share the whole', () => {
    const { reports, runs } = begin();
    for (const left of [2, 1, 0]) {
      const listener = runs.next(left);
      for (const fraction of [0, 0.5, 1]) listener(report(fraction));
    }
    const sixths = reports.map(({ fraction }) => fraction! * 6);
    expect(sixths).toEqual([0, 1, 2, 2, 3, 4, 4, 5, 6].map((sixth) => expect.closeTo(sixth)));
  });

  test('the time left is that of all runs', () => {
    const { reports, runs } = begin();
    const listener = runs.next(1);
    listener(report(0.5, { secondsLeft: 10 }));
    listener(report(1, { secondsLeft: 0 }));
    expect(reports.map(({ secondsLeft }) => secondsLeft)).toEqual([expect.closeTo(30), undefined]);
  });

  test('an unlocking takes nothing where there is none', () => {
    const { reports, runs } = begin();
    runs.unlocking();
    const unlocking = runs.unlocking();
    unlocking(0.5);
    unlocking(1);
    runs.next(0)(report(0));
    expect(reports).toMatchObject([
      { phase: 'unlocking', unlocked: 0.5, fraction: expect.closeTo(0.5 / 21) },
      { phase: 'unlocking', unlocked: 1, fraction: expect.closeTo(1 / 21) },
      { phase: 'converting', fraction: expect.closeTo(1 / 21) },
    ]);
  });
});

test('only the conversion has another phase', () => {
  const phases: string[] = [];
  const listener = asPhase('digesting', ({ phase }) => phases.push(phase));
  for (const phase of ['unlocking', 'converting', 'finalizing'] as const) listener({ phase });
  expect(phases).toEqual(['unlocking', 'digesting', 'finalizing']);
});
