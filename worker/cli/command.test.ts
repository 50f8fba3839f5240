// Errors of the command: one line, without hidden characters or secrets, and the exit code.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { main } from './command.js';
import { commandEntry, EXIT_INTERRUPTED, isCommand, TOPICS } from './commands.js';

const NASTY = '\u001b[31m\u009b2J\nb= \u202e\u2066\u200b';
const NASTY_SHOWN = '\\u001b[31m\\u009b2J\\u000ab= \\u202e\\u2066\\u200b';

const SIGNALS = Object.entries(EXIT_INTERRUPTED) as [NodeJS.Signals, number][];

let printed: { out: string[]; err: string[] };
beforeEach(() => {
  printed = { out: [], err: [] };
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => Boolean(printed.out.push(String(chunk))));
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => Boolean(printed.err.push(String(chunk))));
});

/** Each run listens until the process ends. */
afterEach(() => {
  for (const [signal] of [...SIGNALS, ['SIGUSR1']] as const) process.removeAllListeners(signal);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  vi.unstubAllEnvs();
});

/** Runs the command. Returns its output and exit code. */
async function run(...argv: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const status = await main(argv);
  return { status, stdout: printed.out.join(''), stderr: printed.err.join('') };
}

describe('a mistake is one line, and ends with 2', () => {
  for (const [what, argv, message] of [
    ['an unknown command', ['frobnicate'], "There is no command 'frobnicate'; see decant --help"],
    ['a missing operand', ['convert', 'a'], 'The output is missing; see decant convert --help'],
    ['a missing shell', ['completions'], 'The shell is missing; see decant completions --help'],
    ['a forgotten command', ['a.qcow2', 'b'], 'did you mean: decant convert a.qcow2 b'],
    ['a command of qemu-img', ['create', 'a', '1G'], 'use qemu-img create'],
    ['an unknown topic', ['help', 'convrt'], 'did you mean convert?'],
    ['a hostile command', [NASTY], NASTY_SHOWN],
    ['a hostile option', ['convert', `--${NASTY}`, 'a', 'b'], `'--${NASTY_SHOWN.split('=')[0]}'`],
    ['a hostile format', ['convert', '-O', NASTY, 'a', 'b'], NASTY_SHOWN],
    ['a hostile topic', ['help', NASTY], NASTY_SHOWN],
    ['a hostile value', ['info', `--output=${NASTY}`, 'a'], NASTY_SHOWN],
    ['a hostile number', ['convert', '-m', NASTY, 'a', 'b'], NASTY_SHOWN],
    ['a hostile operand', ['info', 'a', NASTY], NASTY_SHOWN],
    ['a long operand', ['info', 'a', 'x'.repeat(100_000)], 'Unexpected argument'],
    ['a long command', ['x'.repeat(100_000)], 'There is no command'],
    [
      'two uses of standard input',
      ['info', '--header-file', '-', '-'],
      'Standard input is already the image; put the headers into a file',
    ],
  ] satisfies [string, string[], string][]) {
    test(what, async () => {
      const { status, stdout, stderr } = await run(...argv);
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^decant: [^\p{Cc}\u202e\u2066\u200b]{1,1040}\n$/u);
      expect(stderr).toContain(message);
    });
  }
});

describe('the table of commands decides the exit code', () => {
  for (const name of TOPICS)
    test(`of wrong usage of ${name}`, async () => {
      expect(await run(name, '--frobnicate')).toEqual({
        status: commandEntry(name).wrongUsage,
        stdout: '',
        stderr: expect.stringContaining("'--frobnicate'"),
      });
    });

  for (const name of TOPICS.filter(isCommand))
    test(`of a failure of ${name}`, async () => {
      const operands = commandEntry(name).operands.map((_, at) => `operand-${at}`);
      const { status, stderr } = await run(name, '--password-file', '/dev/null/none', ...operands);
      expect(status).toBe(commandEntry(name).failed);
      expect(stderr).toContain('/dev/null/none');
    });
});

test('a failure ends with 1', async () => {
  expect(await run('info', '--password-file', '/dev/null/none', 'a')).toEqual({
    status: 1,
    stdout: '',
    stderr: "decant: Could not read the password from '/dev/null/none': a part of the path is not a folder\n",
  });
});

test('without arguments, the short help is an error', async () => {
  const { status, stdout, stderr } = await run();
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^usage: decant COMMAND .*\n {2}convert .*--version' prints the version\.\n$/s);
});

test('help is printed line by line, and ends with 0', async () => {
  const { status, stdout, stderr } = await run('convert', '--help');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^usage: decant convert .*\n$/s);
  expect(stdout).not.toContain('\\u');
});

for (const [signal, status] of SIGNALS) {
  test(`${signal} interrupts, however often it comes`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'decant-'));
    const pipe = join(folder, 'pipe');
    // With `nohup` here, hang-ups would be ignored.
    vi.stubEnv('_', '');
    try {
      // It has no writer.
      execFileSync('mkfifo', [pipe]);
      const ended = run('info', '--password-file', pipe, 'a');
      for (let times = 0; times < 3; times += 1) process.emit(signal);
      expect(await ended).toEqual({ status, stdout: '', stderr: 'decant: interrupted\n' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
