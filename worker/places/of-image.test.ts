// The places of an image, from the descriptions of its outputs.

import { expect, test, vi } from 'vitest';
import type { ImageSessions } from '../client-side/image-sessions.js';
import { DecantError } from '../errors/errors.js';
import { placesOf } from './of-image.js';
import { PLACES } from './registry.js';

/** The sessions of an image of 4 GiB, whose outputs `output` describes. */
const sessionsWith = (output: ImageSessions['output']): ImageSessions => {
  const formats = PLACES.flatMap((place) => place.formats).map(({ name }) => ({ name, extension: `.${name}` }));
  return { output, info: { virtualSize: 2 ** 32 }, opened: { formats } } as unknown as ImageSessions;
};

const { signal } = new AbortController();

test('an output that many places accept is described once', async () => {
  const output = vi.fn(async (name: string) => ({ name, size: 2 ** 32, notices: [] }) as never);
  const found = await placesOf(sessionsWith(output), signal);
  expect(found.map(({ name }) => name)).toEqual(PLACES.map(({ name }) => name));
  const asked = output.mock.calls.map(([format, options]: unknown[]) => JSON.stringify([format, options]));
  expect(asked).toEqual([...new Set(asked)]);
  expect(new Set(asked)).toEqual(
    new Set(found.map(({ format, formatOptions }) => JSON.stringify([format, formatOptions]))),
  );
});

test('a format that cannot hold the disk is refused for each place that accepts no other', async () => {
  const output = async (name: string) => {
    if (name === 'qcow2') throw new DecantError('limit', 'It is too large');
    return { name, size: 2 ** 32, notices: [] } as never;
  };
  const found = await placesOf(sessionsWith(output), signal);
  for (const { name, format, refusal } of found) {
    const { formats } = PLACES.find((place) => place.name === name)!;
    expect([name, format === 'qcow2', refusal?.message]).toEqual(
      formats.every((one) => one.name === 'qcow2') ? [name, true, 'It is too large'] : [name, false, undefined],
    );
  }
});

test('another failure is that of all places', async () => {
  const output = async () => Promise.reject(new DecantError('internal', 'The worker has died'));
  await expect(placesOf(sessionsWith(output), signal)).rejects.toThrow('The worker has died');
});
