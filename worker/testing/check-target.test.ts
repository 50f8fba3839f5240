// `checkTarget` accepts targets that keep the contract, and reports each way to break it.

import { open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import type { Target, TargetPlan } from '../public/types.js';
import { test } from '../targets/node/folder.test-support.js';
import { checkTarget } from './check-target.js';

/** A good target, the base of the others. */
class Memory implements Target {
  protected disk: Uint8Array | undefined;
  protected end = 0;
  complete: Uint8Array | undefined;

  async open({ outputSize }: TargetPlan): Promise<void> {
    this.disk = new Uint8Array(outputSize!);
  }
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    this.disk!.set(bytes, offset);
    this.end = offset + bytes.length;
  }
  async close(): Promise<void> {
    this.complete = this.disk;
  }
  async abort(): Promise<void> {}
}

class Ascending extends Memory {
  override async write(offset: number, bytes: Uint8Array): Promise<void> {
    if (offset !== this.end) throw new Error('order');
    await super.write(offset, bytes);
  }
}

class LateStart extends Memory {
  readonly ascending = true;
  readonly lateStart = 4096;
  override async write(offset: number, bytes: Uint8Array): Promise<void> {
    if (offset >= this.lateStart && offset !== Math.max(this.end, this.lateStart)) throw new Error('order');
    await super.write(offset, bytes);
  }
}

class OneAtATime extends Memory {
  #isBusy = false;
  override async write(offset: number, bytes: Uint8Array): Promise<void> {
    if (this.#isBusy) throw new Error('busy');
    this.#isBusy = true;
    await new Promise(setImmediate);
    this.#isBusy = false;
    await super.write(offset, bytes);
  }
}

afterEach(() => {
  vi.useRealTimers();
});

const check = (make: new () => Memory) =>
  checkTarget(
    () => new make(),
    async ({ complete }) => complete,
  );

describe('keeps the contract', () => {
  for (const [what, make] of [
    ['a good one', Memory],
    [
      'ascending',
      class extends Ascending {
        readonly ascending = true;
      },
    ],
    ['ascending, with the start last', LateStart],
    [
      'with a hole method',
      class extends Memory {
        async hole(offset: number, length: number) {
          this.disk!.fill(0, offset, offset + length);
        }
      },
    ],
    [
      'one write at a time',
      class extends OneAtATime {
        readonly concurrency = 1;
      },
    ],
  ] as const) {
    test(`a target: ${what}`, async () => {
      expect(await check(make)).toEqual([]);
    });
  }

  test('a target of a file', async ({ folder }) => {
    // A busy machine may take longer to remove a file than the contract allows.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let number = 0;
    const make = () => {
      const name = join(folder, `disk${number++}`);
      let file: Awaited<ReturnType<typeof open>> | undefined;
      return {
        name,
        async open({ outputSize }: TargetPlan) {
          file = await open(`${name}.partial`, 'w');
          await file.truncate(outputSize);
        },
        async write(offset: number, bytes: Uint8Array) {
          await file!.write(bytes, 0, bytes.length, offset);
        },
        async hole() {},
        async close() {
          await file!.close();
          await rename(`${name}.partial`, name);
        },
        async abort() {
          await file?.close();
          await unlink(`${name}.partial`).catch(() => {});
        },
      };
    };
    expect(await checkTarget(make, ({ name }) => readFile(name).catch(() => undefined))).toEqual([]);
  });
});

describe('breaks the contract', () => {
  for (const [what, make, sentence] of [
    [
      'does nothing about holes',
      class extends Memory {
        override async open(plan: TargetPlan) {
          await super.open(plan);
          this.disk!.fill(9);
        }
        async hole() {}
      },
      'a disk has a wrong byte at',
    ],
    ['ascends without saying so', Ascending, 'has failed: order'],
    ['writes one at a time without saying so', OneAtATime, 'has failed: busy'],
    [
      'ignores offsets',
      class extends Memory {
        override write(_: number, bytes: Uint8Array) {
          return super.write(this.end, bytes);
        }
      },
      'a wrong byte at',
    ],
    [
      'closes before it has written',
      class extends Memory {
        readonly #late: (() => void)[] = [];
        override async write(offset: number, bytes: Uint8Array) {
          this.#late.push(() => void super.write(offset, bytes));
        }
        override async close() {
          this.complete = this.disk!.slice();
          for (const write of this.#late) write();
        }
      },
      'a wrong byte at',
    ],
    [
      'is complete when it is aborted',
      class extends Memory {
        override abort() {
          return this.close();
        }
      },
      'a complete disk remains after abort after open',
    ],
    [
      'has no abort',
      class extends Memory {
        override abort = undefined as unknown as () => Promise<void>;
      },
      'abort must be a function',
    ],
    [
      'cannot be aborted before it is open',
      class extends Memory {
        override async abort() {
          if (!this.disk) throw new Error('not open');
        }
      },
      'abort before open has failed: not open',
    ],
    [
      'accepts no start after all others, but says that it does',
      class extends Ascending {
        readonly ascending = true;
        readonly lateStart = 4096;
      },
      'has failed: order',
    ],
    [
      'has a late start that is none',
      class extends Memory {
        readonly lateStart = -1;
      },
      'lateStart must be a number of bytes',
    ],
    [
      'has a concurrency that is none',
      class extends Memory {
        readonly concurrency = 0;
      },
      'concurrency is 0',
    ],
  ] as [string, new () => Memory, string][]) {
    test(`a target that ${what}`, async () => {
      expect((await check(make)).join('\n')).toContain(sentence);
    });
  }
});

describe('takes too long', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  const never = () => new Promise<never>(() => {});

  for (const [what, make, sentence] of [
    [
      'an abort',
      class extends Memory {
        override abort = () => (this.disk ? never() : Promise.resolve());
      },
      'abort after open has not settled within 0.2 seconds',
    ],
    [
      'an abort that says how long it takes',
      class extends Memory {
        readonly abortTimeout = 5;
        override abort = () => (this.disk ? never() : Promise.resolve());
      },
      'abort after open has not settled within 5 seconds',
    ],
    [
      'a close',
      class extends Memory {
        override close = never;
      },
      'close has not settled within 10 seconds',
    ],
  ] as [string, new () => Memory, string][]) {
    test(what, async () => {
      const checked = check(make);
      await vi.runAllTimersAsync();
      expect(await checked).toEqual([sentence]);
    });
  }
});
