// The passwords of an image, which are kept until it is closed and then wiped.

import { describe, expect, test } from 'vitest';
import type { OpenOptions } from '../public/caller-types.js';
import type { Layer } from '../public/types.js';
import { LayerPasswords } from './image-sessions.js';

const layer = (name: string): Layer => ({ name, format: 'qcow2', guessed: false, virtualSize: 1, encryption: 'luks' });
const [TOP, BASE] = [layer('top'), layer('base')];
const SECRET = new TextEncoder().encode('sécret');

const passwordsOf = (password?: unknown) => new LayerPasswords({ password } as OpenOptions);

describe('one for all layers', () => {
  for (const [what, password, bytes] of [
    ['text is its UTF-8 bytes', 'sécret', SECRET],
    ['bytes', SECRET, SECRET],
    ['empty text is a password', '', new Uint8Array()],
    ['nothing', undefined, undefined],
  ] as const) {
    test(what, async () => {
      const passwords = passwordsOf(password);
      expect(passwords.hasAny).toBe(bytes !== undefined);
      expect(await passwords.of(0, TOP)).toEqual(bytes);
      expect(await passwords.of(1, BASE)).toEqual(bytes);
    });
  }

  test("the caller's bytes and each returned copy may be wiped", async () => {
    const given = SECRET.slice();
    const passwords = passwordsOf(given);
    given.fill(0);
    const first = (await passwords.of(0, TOP))!;
    expect(first).toEqual(SECRET);
    first.fill(0);
    expect(await passwords.of(0, TOP)).toEqual(SECRET);
    // Wiping does not affect the caller's bytes.
    const other = SECRET.slice();
    passwordsOf(other).wipe();
    expect(other).toEqual(SECRET);
  });
});

describe('a function', () => {
  /** A function that returns the next of `answers` at each call, and the layers of its calls. */
  function asked(...answers: unknown[]) {
    const layers: string[] = [];
    const passwords = passwordsOf(({ name }: Layer) => {
      layers.push(name);
      const answer = answers[layers.length - 1];
      return typeof answer === 'function' ? answer() : answer;
    });
    return { layers, passwords };
  }

  test('is called once for each layer', async () => {
    const { layers, passwords } = asked('one', Promise.resolve(SECRET));
    expect(await passwords.of(0, TOP)).toEqual(new TextEncoder().encode('one'));
    expect(await passwords.of(1, BASE)).toEqual(SECRET);
    expect(await passwords.of(0, TOP)).toEqual(new TextEncoder().encode('one'));
    expect(layers).toEqual(['top', 'base']);
  });

  test('is called again after a wrong answer, and after none', async () => {
    const { layers, passwords } = asked('wrong', undefined, 'right');
    await passwords.of(0, TOP);
    passwords.forget(0);
    expect(await passwords.of(0, TOP)).toBeUndefined();
    expect(await passwords.of(0, TOP)).toEqual(new TextEncoder().encode('right'));
    expect(layers).toEqual(['top', 'top', 'top']);
  });

  const fail = () => {
    throw new Error('asleep');
  };
  for (const [what, answer, error] of [
    ['throws', () => fail(), { kind: 'password', message: "Could not ask for the password of 'top': asleep" }],
    ['rejects', async () => fail(), { kind: 'password', cause: new Error('asleep') }],
    ['answers with a number', 7, { kind: 'usage', message: 'A password is a string or a Uint8Array' }],
    ['answers with null', null, { kind: 'usage' }],
  ] as const) {
    test(`that ${what}`, async () => {
      await expect(asked(answer).passwords.of(0, TOP)).rejects.toMatchObject(error);
    });
  }

  test('is not called after the image was closed', async () => {
    const { layers, passwords } = asked('one');
    passwords.wipe();
    expect(passwords.hasAny).toBe(false);
    expect(await passwords.of(0, TOP)).toBeUndefined();
    expect(layers).toEqual([]);
  });

  test('an answer that arrives after the image was closed is wiped', async () => {
    let answer = (_: Uint8Array) => {};
    const waiting = new Promise((resolve) => {
      answer = resolve;
    });
    const passwords = passwordsOf(() => waiting);
    const late = passwords.of(0, TOP);
    passwords.wipe();
    answer(SECRET);
    expect(await late).toEqual(new Uint8Array(SECRET.length));
  });
});
