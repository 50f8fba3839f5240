// Arguments that are not UTF-8: Node has replaced the invalid bytes.

import { expect, test, vi } from 'vitest';
import { requireText } from './operands.js';

const system = vi.hoisted(() => ({ cmdline: undefined as string | undefined }));

vi.mock('node:fs/promises', () => ({
  readFile: async () => {
    if (system.cmdline === undefined) throw new Error('the system does not tell');
    return system.cmdline;
  },
}));

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

// (arguments as Node has them, as the system has them, the one that is refused)
for (const [what, argv, bytes, refused] of [
  ['plain text', ['info', 'a'], ['info', 'a'], undefined],
  ['text in other scripts', ['info', 'ü盘'], ['info', 'ü盘'].map(latin1), undefined],
  ['a byte that is not UTF-8', ['info', 'a\uFFFD'], ['info', 'a\xff'], 'a\uFFFD'],
  ['a character that means such a byte', ['info', 'a\uFFFD'], ['info', latin1('a\uFFFD')], undefined],
  ['both', ['\uFFFD', '\uFFFD'], [latin1('\uFFFD'), '\xff'], '\uFFFD'],
  ['an empty argument', ['', '\uFFFD'], ['', latin1('\uFFFD')], undefined],
  ['a system that does not tell', ['a\uFFFD'], undefined, 'a\uFFFD'],
] satisfies [string, string[], string[] | undefined, string | undefined][]) {
  test(what, async () => {
    system.cmdline = bytes && ['node', 'cli.js', ...bytes, ''].join('\0');
    const ended = await requireText(argv).catch((error: unknown) => error);
    if (refused === undefined) expect(ended).toBeUndefined();
    else expect(ended).toMatchObject({ kind: 'usage', message: expect.stringContaining(`'${refused}' is not UTF-8`) });
  });
}
