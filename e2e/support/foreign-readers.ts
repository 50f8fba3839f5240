// Third-party readers of disk images: Python packages that scripts/setup.mjs installs. One process reads many.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { test as base, expect } from './node.js';

export { expect };

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const python = pathOf('../../.cache/readers/bin/python3');

export interface Question {
  /** The path of the image. */
  image: string;
  format: 'qcow2' | 'vmdk' | 'vpc' | 'vhdx' | 'vdi';
  /** The path of the expected raw disk; zeros may follow it in the image. */
  disk: string;
}

/** The result of format_inspector for an image. */
export interface Inspection {
  format: string;
  virtualSize: number;
  /** The safety checks that the image does not pass, and why. */
  failures: Record<string, string>;
}

/** The disk as a program reads it. */
export interface Found {
  /** In bytes. */
  size: number;
  /** The first part of 4 MiB that differs from the expected disk. */
  difference: number | null;
}

export type Reader = 'dissect' | 'libvhdi' | 'libvmdk';

export interface Answer extends Inspection {
  /** The result of each program that reads the format. */
  read: Partial<Record<Reader, Found>>;
}

export interface Readers {
  (question: Question): Promise<Answer>;
  /** Only inspects an image. */
  (question: Pick<Question, 'image'>): Promise<Inspection>;
}

export const test = base.extend<object, { readers: Readers }>({
  readers: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const child = spawn(python, [pathOf('foreign-readers.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
      const closed = new Promise((done) => child.on('close', done));
      // Fails at once if the readers are not installed.
      await once(child, 'spawn');
      // The end of its answers shows that it has failed.
      child.stdin.on('error', () => {});
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const ask = async (question: object) => {
        child.stdin.write(`${JSON.stringify(question)}\n`);
        const { value, done } = await lines.next();
        if (done) throw new Error(`${python} has ended; its error is above`);
        return JSON.parse(value);
      };
      await use(ask);
      child.stdin.end();
      await closed;
    },
    { scope: 'worker' },
  ],
});
