// The identity of a conversion changes with everything that changes the output's bytes.

import { describe, expect, test, vi } from 'vitest';
import type { ImageSetup } from '../client-side/image-session.js';
import type { ByteRange } from '../http/ranges.js';
import type { CrateExtent } from '../messages/coordinator.js';
import type { Info } from '../public/types.js';
import { identityOf, samplesOf } from './identity.js';
import type { ChosenFormat } from './output-format.js';

interface Given {
  states?: (string | undefined)[];
  companions?: object[];
  settings?: object;
  layers?: object[];
  comesInOrder?: boolean;
  format?: string;
  resumable?: boolean;
  formatOptions?: Record<string, string>;
  options?: object;
  /** The bytes of local files, and the extents of the disk. */
  files?: Uint8Array[];
  extents?: object[];
  /** Reads the files, in place of `files`. */
  peek?: (ranges: ByteRange[]) => Promise<Uint8Array[]>;
}

const identify = (given: Given = {}): ReturnType<typeof identityOf> => identifier(given)();

/** Returns a function that identifies conversions of one image with other options. */
function identifier(given: Given): (options?: object) => ReturnType<typeof identityOf> {
  const { states = ['one'], companions = [], settings = {}, layers = [], comesInOrder = false } = given;
  const { format = 'raw', resumable = true, formatOptions = {}, options = {} } = given;
  const { peek, files = [], extents = [{ offset: 0, length: 7, kind: 'data' }] } = given;
  const fileOf = (bytes: Uint8Array | undefined) =>
    bytes && {
      size: bytes.length,
      peek: async (ranges: ByteRange[]) => ranges.map(({ start, end }) => bytes.slice(start, end)),
    };
  const first = peek && { size: 1, peek };
  const sources = { all: states.map((state, at) => ({ state, ...(first ?? fileOf(files[at])) })), companions };
  const setup = { sources, settings: { salvage: false, ...settings } } as unknown as ImageSetup;
  async function* layout() {
    yield extents as CrateExtent[];
  }
  const image = { setup, sessions: { opened: { comesInOrder }, layout }, info: { layers } as unknown as Info };
  const chosen = { name: format, resumable, formatOptions } as ChosenFormat;
  return (now = options) => identityOf(image, chosen, now, new AbortController().signal);
}

test('is the same for the same conversion, and reveals nothing', async () => {
  const secret = 'https://example.net/disk?token=secret';
  const identity = await identify({ states: [secret] });
  expect(identity).toMatch(/^[0-9a-f]{64}$/);
  expect(await identify({ states: [secret] })).toBe(identity);
});

test('the content of an open image is read once', async () => {
  const peek = vi.fn(async (ranges: ByteRange[]) => ranges.map(() => new Uint8Array(1)));
  const identifyAgain = identifier({ peek });
  const identity = await identifyAgain();
  expect(await identifyAgain()).toBe(identity);
  expect(await identifyAgain({ size: 1024 })).not.toBe(identity);
  expect(peek).toHaveBeenCalledTimes(1);
  await identify({ peek });
  expect(peek).toHaveBeenCalledTimes(2);
});

describe('differs with', () => {
  test.each<[string, Given]>([
    ['another state of the image', { states: ['two'] }],
    ['a companion', { states: ['one', 'two'], companions: [{ name: 'base' }] }],
    ['another output format', { format: 'vpc' }],
    ['options of the output format', { formatOptions: { force_size: 'on' } }],
    ['a larger disk', { options: { size: 1024 } }],
    ['another GPT', { options: { fixGpt: true } }],
    ['zeros that take space', { options: { sparse: false } }],
    ['a format that was stated', { settings: { format: 'qcow2' } }],
    ['a snapshot', { settings: { snapshot: 'before' } }],
    ['a disk of an archive', { settings: { disk: 2 } }],
  ])('%s', async (_, given) => {
    expect(await identify(given)).not.toEqual(await identify());
  });

  test('another name of a companion, or another order', async () => {
    const of = (...names: string[]) =>
      identify({ states: ['one', 'two'], companions: names.map((name) => ({ name })) });
    expect(new Set(await Promise.all([of('a', 'b'), of('b', 'a'), of('a', 'c')]))).toHaveLength(3);
  });
});

describe('differs for a local file with', () => {
  const MIB = 1 << 20;
  const file = (at?: number) => {
    const bytes = new Uint8Array(3 * MIB).fill(7);
    if (at !== undefined) bytes[at] = 8;
    return { files: [bytes] };
  };
  const extent = { offset: 0, length: 7, kind: 'data', depth: 0, file: 0, hostOffset: 65_536 };

  test.each<[string, Given]>([
    ['another first byte', file(0)],
    ['another header', file(65_535)],
    ['another last byte', file(3 * MIB - 1)],
    ['another end', file(3 * MIB - 65_536)],
    ['data elsewhere', { ...file(), extents: [{ ...extent, offset: 131_072 }] }],
    ['zeros instead', { ...file(), extents: [{ ...extent, kind: 'zero' }] }],
    ['more data', { ...file(), extents: [extent, { ...extent, offset: 7 }] }],
  ])('%s', async (_, given) => {
    const before = await identify({ extents: [extent], ...file() });
    expect(await identify({ extents: [extent], ...file() })).toBe(before);
    expect(await identify({ extents: [extent], ...given })).not.toBe(before);
  });

  test('another byte after everything was rewritten', async () => {
    const other = { files: [new Uint8Array(3 * MIB).map((_, at) => (at > MIB && at < 2 * MIB ? 8 : 7))] };
    expect(await identify(other)).not.toBe(await identify(file()));
  });

  test('another byte of a small file', async () => {
    const small = (value: number) => ({ files: [Uint8Array.of(1, 2, value, 4)] });
    expect(await identify(small(3))).not.toBe(await identify(small(5)));
  });

  test('but not for a file on a server, whose tables are not read', async () => {
    const none = await identify({ extents: [extent] });
    expect(await identify({ extents: [{ ...extent, kind: 'zero' }] })).toBe(none);
  });
});

test('samples are a small part of a large file', () => {
  const size = 2 ** 43;
  const samples = samplesOf(size);
  expect(samples.reduce((sum, { start, end }) => sum + end - start, 0)).toBeLessThan(1 << 19);
  expect(samples[0]).toEqual({ start: 0, end: 65_536 });
  expect(samples.at(-1)).toEqual({ start: size - 65_536, end: size });
  for (const [at, { start, end }] of samples.entries()) {
    expect(end).toBeGreaterThan(start);
    expect(start).toBeGreaterThanOrEqual(samples[at - 1]?.end ?? 0);
  }
  expect(samplesOf(0)).toEqual([{ start: 0, end: 0 }]);
  expect(samplesOf(1 << 20)).toHaveLength(66);
});

describe('is refused for', () => {
  test.each<[string, Given, string]>([
    ['a compressed output', { format: 'raw.gz', resumable: false }, 'the output format raw.gz is written in one pass'],
    [
      'a form that cannot be resumed',
      { format: 'vpc', formatOptions: { subformat: 'dynamic' }, resumable: false },
      'the output format vpc (subformat=dynamic) is written in one pass',
    ],
    ['a salvage', { settings: { salvage: true } }, 'salvage reads the image in one pass'],
    ['a streamed image', { comesInOrder: true }, 'the container of the image is read in one pass'],
    ['the legacy encryption', { layers: [{}, { encryption: 'aes' }] }, 'the image has the legacy AES encryption'],
    ['no state', { states: [undefined] }, 'a later change of the image could not be detected'],
    ['a companion without a state', { states: ['a', undefined] }, 'a later change of the image could not be detected'],
  ])('for %s', async (_, given, reason) => {
    expect(await identify(given)).toEqual({ reason });
  });

  test('but not for LUKS', async () => {
    expect(await identify({ layers: [{ encryption: 'luks' }] })).toMatch(/^[0-9a-f]{64}$/);
  });
});
