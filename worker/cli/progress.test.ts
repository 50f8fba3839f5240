// The line of progress, as a terminal gets it, and the lines about a server that the command waits for.

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Waiting } from '../http/http-types.js';
import type { Progress } from '../public/types.js';
import { ProgressLine, progressLine, reportProgress, WaitingLines } from './progress.js';

describe('the line of progress', () => {
  /** Half of a disk of 200 MB, at an unknown speed. */
  const HALF: Progress = {
    phase: 'converting',
    fraction: 0.5,
    unlocked: 0,
    guestDone: 100e6,
    guestTotal: 200e6,
    dataDone: 0,
    bytesRead: 0,
    bytesWritten: 0,
    bytesPerSecond: 0,
  };

  const network = (silence: number, retries: number) => ({ network: { received: 0, sent: 0, retries, silence } });

  /** The output for each of `reports`. */
  function written(reports: Partial<Progress>[]): string[] {
    const texts: string[] = [];
    const write = (text: string | Uint8Array) => Boolean(texts.push(String(text)));
    const line = new ProgressLine({ write }, true);
    for (const report of reports) line.show({ ...HALF, ...report });
    line.done();
    line.end();
    return texts;
  }

  describe('one report', () => {
    for (const [what, report, text] of [
      ['nothing but the share', {}, '    (50.00/100%)'],
      ['nothing done', { fraction: 0 }, '    (0.00/100%)'],
      ['all done', { fraction: 1 }, '    (100.00/100%)'],
      ['a speed', { bytesPerSecond: 123.6e6 }, '    (50.00/100%)  124 MB/s'],
      ['a speed and a time', { bytesPerSecond: 50e6, secondsLeft: 2 }, '    (50.00/100%)  50 MB/s  0:02 left'],
      ['a part of a second', { secondsLeft: 0.1 }, '    (50.00/100%)  0:01 left'],
      ['a minute', { secondsLeft: 59.5 }, '    (50.00/100%)  1:00 left'],
      ['an hour less a second', { secondsLeft: 3599 }, '    (50.00/100%)  59:59 left'],
      ['hours', { secondsLeft: 2 * 3600 + 3 * 60 + 4 }, '    (50.00/100%)  2:03:04 left'],
      ['no more retries', network(0, 0), '    (50.00/100%)'],
      ['retries', network(4.9, 7), '    (50.00/100%)  7 requests retried'],
      [
        'a server that is waited for, which hides the speed',
        { bytesPerSecond: 50e6, secondsLeft: 2, waiting: { host: 'host:8080', status: 502, attempt: 3 } },
        '    (50.00/100%)  waiting for the server: 502, attempt 3 (host:8080)',
      ],
      [
        'one that does not answer, before anything is written',
        { phase: 'preparing', waiting: { host: 'host', attempt: 1 } },
        '    waiting for the server: no usable answer, attempt 1 (host)',
      ],
      [
        'a finished output on its way',
        { phase: 'sending', bytesPerSecond: 50e6, secondsLeft: 2 },
        '    sending (50.00/100%)  50 MB/s  0:02 left',
      ],
      ['an unlocking', { phase: 'unlocking', fraction: 0.256 }, '    unlocking (26%)'],
    ] satisfies [string, Partial<Progress>, string][]) {
      test(what, () => expect(written([report])[0]).toBe(`\r${text}`));
    }

    test('bytes where the share is not known, and all of it in the end', () => {
      const { fraction: _, ...unknown } = HALF;
      const line: string[] = [];
      const write = (text: string | Uint8Array) => Boolean(line.push(String(text)));
      new ProgressLine({ write }, true).show(unknown);
      new ProgressLine({ write }, true).show({ ...unknown, phase: 'finalizing', fraction: 1 });
      expect(line).toEqual(['\r    (100 MB)', '\r    (100.00/100%)']);
    });

    test('preparing writes nothing', () => {
      expect(written([{ phase: 'preparing' }])).toEqual(['\r    (100.00/100%)', '\n']);
    });
  });

  test('a shorter text covers a longer one, and the end begins a new line', () => {
    const long = '\r    (50.00/100%)  5 MB/s  0:09 left';
    expect(written([{ bytesPerSecond: 5e6, secondsLeft: 9 }, {}, { fraction: 0 }])).toEqual([
      long,
      '\r    (50.00/100%)'.padEnd(long.length),
      '\r    (0.00/100%) ',
      '\r    (100.00/100%)',
      '\n',
    ]);
  });

  test('without a line, none is ended', () => {
    const texts: string[] = [];
    new ProgressLine({ write: (text: string | Uint8Array) => Boolean(texts.push(String(text))) }, true).end();
    expect(texts).toEqual([]);
  });
});

describe('what SIGUSR1 prints', () => {
  let texts: string[];
  beforeEach(() => {
    texts = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(texts.push(String(text))));
  });

  const quiet = () => progressLine({ progress: false, quiet: true });
  const shown = () => progressLine({ progress: true, quiet: false });

  test('nothing done, before there is a line', async () => {
    vi.resetModules();
    const fresh = await import('./progress.js');
    fresh.reportProgress();
    expect(texts).toEqual(['    (0.00/100%)\n']);
  });

  for (const [what, line, steps, expected] of [
    ['nothing done, while the target is prepared', quiet, [], ['    (0.00/100%)\n']],
    ['the last share of a line that is not shown', quiet, [0.25, 0.5], ['    (50.00/100%)\n']],
    ['a shown line once more', shown, [0.5], ['\r    (50.00/100%)', '\r', '    (50.00/100%)\n']],
  ] as const) {
    test(what, () => {
      const current = line();
      for (const step of steps) current.share({ phase: 'converting', fraction: step });
      reportProgress();
      expect(texts).toEqual(expected);
      current.end();
      // The cursor is at the beginning of a line.
      expect(texts).toEqual(expected);
    });
  }

  test('a shown line continues below, and the last line counts after its end', () => {
    const line = shown();
    line.share({ phase: 'converting', fraction: 0.5 });
    reportProgress();
    texts = [];
    line.share({ phase: 'converting', fraction: 0.75 });
    line.end();
    reportProgress();
    expect(texts).toEqual(['\r    (75.00/100%)', '\n', '    (75.00/100%)\n']);
  });
});

describe('lines about a server', () => {
  let printed: string[];
  beforeEach(() => {
    printed = [];
    vi.useFakeTimers();
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean(printed.push(String(text))));
  });

  const BUSY = { host: 'host:8080', status: 502, attempt: 3 };
  const line = (text: string) => `decant: waiting for the server: ${text}\n`;

  test('one line for each server and status, and again after a minute', () => {
    const lines = new WaitingLines();
    const reported: [number, Waiting | undefined][] = [
      [0, BUSY],
      [1000, { ...BUSY, attempt: 4 }],
      [1000, undefined],
      [1000, { ...BUSY, attempt: 1 }],
      [1000, { host: 'host:8080', attempt: 5 }],
      [59_999, { host: 'host:8080', attempt: 6 }],
      [1, { host: 'host:8080', attempt: 7 }],
      [0, { host: 'other', attempt: 0 }],
      [30_000, { host: 'other', attempt: 1 }],
      [0, { host: 'other', attempt: 0, completing: true }],
      [1000, { host: 'other', attempt: 0, completing: true }],
    ];
    for (const [wait, waiting] of reported) {
      vi.advanceTimersByTime(wait);
      lines.report(waiting);
    }
    expect(printed).toEqual([
      line('502, attempt 3 (host:8080)'),
      line('no usable answer, attempt 5 (host:8080)'),
      line('no usable answer, attempt 7 (host:8080)'),
      line('no complete answer yet (other)'),
      line('it is completing the upload (other)'),
    ]);
  });

  test('no line while something else shows it', () => {
    const lines = new WaitingLines();
    lines.isSilenced = true;
    lines.report(BUSY);
    expect(printed).toEqual([]);
  });
});
