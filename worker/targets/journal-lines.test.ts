import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type JournalFile, JournalWriter, lineOf, mostUnsaved, readLines, wholeLines } from './journal-lines.js';

const at = (guest: number) => ({ guest, written: guest / 2 });

describe('readLines', () => {
  test.each<[string, string, ReturnType<typeof readLines>]>([
    ['nothing', '', undefined],
    ['a head without an end', 'head', undefined],
    ['the head alone', 'head\n', { head: 'head', resumePoint: undefined }],
    ['one line', 'head\n8192 4096\n', { head: 'head', resumePoint: at(8192) }],
    ['several lines: the last one', 'head\n2 1\n8 4\n', { head: 'head', resumePoint: at(8) }],
    ['a last line without an end', 'head\n2 1\n8 4', { head: 'head', resumePoint: at(2) }],
    ['a last line cut within a number', 'head\n2 1\n8', { head: 'head', resumePoint: at(2) }],
    ['a line with one number only', 'head\n2 1\n8\n', { head: 'head', resumePoint: at(2) }],
    ['a line that continues one without an end', 'head\n2 1\n98 4 4\n', { head: 'head', resumePoint: at(2) }],
    ['a negative number', 'head\n-2 1\n', { head: 'head', resumePoint: undefined }],
    ['a number with too many digits', 'head\n12345678901234567 1\n', { head: 'head', resumePoint: undefined }],
    ['no digits', 'head\n0x10 1e3\n', { head: 'head', resumePoint: undefined }],
    ['an empty line', 'head\n2 1\n\n', { head: 'head', resumePoint: at(2) }],
  ])('%s', (_, text, expected) => {
    expect(readLines(text)).toEqual(expected);
  });

  test('reads the lines of lineOf', () => {
    const resumePoint = { guest: 2 ** 53 - 1, written: 2 ** 52 };
    expect(readLines(`head\n${lineOf(resumePoint)}`)).toEqual({ head: 'head', resumePoint });
  });
});

test.each([
  ['', 0],
  ['head', 0],
  ['head\n', 5],
  ['head\n1 2', 5],
  ['head\n1 2\n', 9],
  ['head\n1 2\n9', 9],
])('wholeLines of %j is %i', (text, length) => {
  expect(wholeLines(new TextEncoder().encode(text))).toBe(length);
});

test.each([
  ['a small disk', 1e6, 64e6],
  ['a disk of unknown size', undefined, 64e6],
  ['a large disk', 100e9, 5e9],
])('how much of %s may be unsaved', (_, size, most) => {
  expect(mostUnsaved(size)).toBe(most);
});

describe('JournalWriter', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A journal in memory, whose flushes take `flushing` milliseconds. */
  function journal(flushing = 0): JournalFile & { calls: string[]; flushing: number } {
    const calls: string[] = [];
    const file = {
      calls,
      flushing,
      flushData: async () => {
        calls.push('flush');
        if (file.flushing > 0) await new Promise((resolve) => setTimeout(resolve, file.flushing));
      },
      append: async (line: string) => void calls.push(line),
    };
    return file;
  }
  const passed = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

  test('notes nothing in the first half second, and then the latest, the data first', async () => {
    const file = journal();
    const notes = new JournalWriter(file);
    notes.settled(at(2));
    await passed(499);
    notes.settled(at(4));
    await passed(0);
    expect(file.calls).toEqual([]);
    expect(notes.hasAny).toBe(false);
    await passed(1);
    notes.settled(at(6));
    await passed(0);
    expect(file.calls).toEqual(['flush', lineOf(at(6))]);
    expect(notes.hasAny).toBe(true);
  });

  test('notes an offset once, however often it is reported', async () => {
    const file = journal();
    const notes = new JournalWriter(file, at(2));
    for (let time = 0; time < 10_000; time += 100) {
      await passed(100);
      notes.settled(at(time < 2000 ? 2 : 4));
    }
    expect(file.calls).toEqual(['flush', lineOf(at(4))]);
  });

  test('waits half a second between two notes', async () => {
    const file = journal();
    const notes = new JournalWriter(file);
    for (let time = 0; time < 2000; time += 50) {
      await passed(50);
      notes.settled(at(time + 2));
    }
    await passed(0);
    expect(file.calls.filter((call) => call === 'flush')).toHaveLength(4);
  });

  test('waits ten times as long as a note takes, and notes one at a time', async () => {
    const file = journal(200);
    const notes = new JournalWriter(file);
    await passed(500);
    notes.settled(at(2));
    await passed(100);
    notes.settled(at(4));
    await passed(100);
    expect(file.calls).toEqual(['flush', lineOf(at(2))]);
    await passed(1999);
    notes.settled(at(6));
    expect(file.calls).toHaveLength(2);
    await passed(1);
    notes.settled(at(8));
    await passed(200);
    expect(file.calls).toEqual(['flush', lineOf(at(2)), 'flush', lineOf(at(8))]);
  });

  test('notes at once when the most that may be unsaved is written', async () => {
    const file = journal(200);
    const notes = new JournalWriter(file, at(2), 8);
    notes.settled(at(8));
    expect(file.calls).toEqual([]);
    notes.settled(at(10));
    expect(file.calls).toEqual(['flush']);
    notes.settled(at(20));
    await passed(200);
    expect(notes.savedUpTo).toBe(10);
    await passed(200);
    expect(file.calls).toEqual(['flush', lineOf(at(10)), 'flush', lineOf(at(20))]);
    expect(notes.savedUpTo).toBe(20);
  });

  test('a resume point covers only what was settled before its flush', async () => {
    const file = journal(100);
    const notes = new JournalWriter(file);
    await passed(500);
    notes.settled(at(2));
    notes.settled(at(4));
    await passed(100);
    expect(file.calls).toEqual(['flush', lineOf(at(2))]);
  });

  test('end waits for a note under way, and adds none', async () => {
    const file = journal(100);
    const notes = new JournalWriter(file);
    await passed(500);
    notes.settled(at(2));
    notes.settled(at(4));
    const ended = notes.end();
    await passed(100);
    await ended;
    expect(file.calls).toEqual(['flush', lineOf(at(2))]);
  });

  test('keep waits for a resume point under way, and saves the latest one', async () => {
    const file = journal(100);
    const notes = new JournalWriter(file);
    await passed(500);
    notes.settled(at(2));
    notes.settled(at(4));
    const kept = notes.keep();
    await passed(200);
    await kept;
    expect(file.calls).toEqual(['flush', lineOf(at(2)), 'flush', lineOf(at(4))]);
  });

  test('keep notes at once, but nothing twice', async () => {
    const file = journal();
    const notes = new JournalWriter(file);
    notes.settled(at(2));
    await notes.keep();
    await notes.keep();
    expect(file.calls).toEqual(['flush', lineOf(at(2))]);
  });

  test('a resume point of an earlier conversion is not saved again', async () => {
    const file = journal();
    const notes = new JournalWriter(file, at(8));
    expect(notes.hasAny).toBe(true);
    await notes.keep();
    expect(file.calls).toEqual([]);
  });

  test('a failed flush is reported, and nothing is saved after it', async () => {
    const file = journal();
    const cause = new Error('the disk reports an error');
    file.flushData = async () => {
      throw cause;
    };
    const notes = new JournalWriter(file);
    await passed(500);
    notes.settled(at(2));
    await passed(5000);
    // The system reports it only once: a second flush would succeed.
    file.flushData = async () => void file.calls.push('flush');
    notes.settled(at(4));
    await notes.keep();
    expect(file.calls).toEqual([]);
    expect(notes.hasAny).toBe(false);
    expect(notes.flushFailure).toBe(cause);
  });

  test('a line that cannot be written ends the notes without an error', async () => {
    const file = journal();
    file.append = async () => {
      throw new Error('the disk is full');
    };
    const notes = new JournalWriter(file);
    await passed(500);
    notes.settled(at(2));
    await passed(5000);
    file.append = async (line) => void file.calls.push(line);
    notes.settled(at(4));
    await notes.keep();
    expect(file.calls).toEqual(['flush']);
    expect(notes.hasAny).toBe(false);
    expect(notes.flushFailure).toBeUndefined();
  });
});
