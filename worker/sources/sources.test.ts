// An image and its companions: equal files, names, and closing.

import { afterEach, expect, test } from 'vitest';
import type { HttpOptions } from '../http/http-types.js';
import type { Companion, Input } from '../public/caller-types.js';
import type { Source } from '../public/types.js';
import { openCustomSource, openStream } from './custom-sources.js';
import type { OpenedSource } from './opened-source.js';
import { Sources } from './sources.js';

const closed: (string | undefined)[] = [];
afterEach(() => {
  closed.length = 0;
});

/** A source called `name`, whose content is not read. */
const own = (name: string | undefined, more: Partial<Source> = {}): Source => ({
  size: 1,
  ...(name === undefined ? {} : { name }),
  ...more,
  read: async () => new Uint8Array(1),
});

async function openSource(input: Input): Promise<OpenedSource> {
  if (input instanceof ReadableStream)
    return { ...openStream(input), name: 'stream', close: async () => void closed.push('stream') };
  const opened = openCustomSource(input as Source);
  const close = async () => void closed.push(opened.name);
  return { ...opened, close };
}

const open = (input: Input, ...companions: readonly Companion[]) => Sources.open(openSource, input, companions, {});

test('companions by their own or their given names', async () => {
  const sources = await open(
    own('top'),
    own('middle'),
    { name: 'base', source: own('other') },
    { name: 'bare', source: own(undefined) },
  );
  expect(sources.companions).toEqual([
    { name: 'middle', standsFor: undefined, isImage: false },
    { name: 'other', standsFor: 'base', isImage: false },
    { name: 'bare', standsFor: 'bare', isImage: false },
  ]);
  expect(sources.all.map(({ name }) => name)).toEqual(['top', 'middle', 'other', undefined]);
});

const unreadable = {
  get name(): string {
    throw new Error('a');
  },
  source: own('other'),
};

test.for([
  [{ name: 5, source: own('other') }, "The 'name' of one of the 'companions' must be a string"],
  [{ name: null, source: own('other') }, "The 'name' of one of the 'companions' must be a string"],
  [unreadable, "Could not read 'companions': a"],
] as const)('a companion whose name is wrong is refused', async ([companion, message]) => {
  await expect(open(own('top'), companion as Companion)).rejects.toMatchObject({ kind: 'usage', message });
});

test('headers are sent only to the origin of the image', async () => {
  const asked: [Input, unknown][] = [];
  const openAddress = async (input: Input, options: HttpOptions) => {
    asked.push([input, options.headers]);
    return openCustomSource(own(String(input)));
  };
  const headers = { Authorization: 'Bearer secret' };
  const image = 'https://user@one.test/top.qcow2';
  const companions = [
    'https://one.test/base.qcow2',
    new URL('https://two.test/base.qcow2'),
    'http://one.test/plain.qcow2',
  ];
  await Sources.open(openAddress, image, [...companions, { name: 'local', source: own('local') }], { headers });
  expect(new Map(asked)).toEqual(
    new Map<unknown, unknown>([
      [image, headers],
      [companions[0], headers],
      [companions[1], undefined],
      [companions[2], undefined],
      [asked.at(-1)![0], undefined],
    ]),
  );
});

test('the same file twice is one companion, unless it stands for another name', async () => {
  const [top, base] = [own('top'), own('base')];
  const sources = await open(top, base, base, { name: 'other', source: base }, top);
  expect(sources.companions).toEqual([
    { name: 'base', standsFor: undefined, isImage: false },
    { name: 'base', standsFor: 'other', isImage: false },
    { name: 'top', standsFor: undefined, isImage: true },
  ]);
  expect(closed).toEqual(['base']);
});

test.for([
  ['without a name', own(undefined), 'A companion needs a name: pass { name, source }', undefined],
  [
    'that is a stream',
    new ReadableStream(),
    "'stream' is a stream, but companions must be readable at any position; save it to a file first",
    'stream',
  ],
] as const)('a companion %s is refused, and all are closed', async ([, companion, message, name]) => {
  await expect(open(own('top'), own('base'), companion as Companion)).rejects.toMatchObject({ kind: 'usage', message });
  expect(closed).toEqual(['top', 'base', name]);
});

/** Sources that the test lets open or fail, by name, and the names in the order of opening. */
function gates() {
  const begun: string[] = [];
  const settle = new Map<string, { open: () => void; fail: (reason: Error) => void }>();
  const openSource = (input: Input, { signal }: { signal?: AbortSignal | undefined }) => {
    const source = input as Source;
    begun.push(source.name!);
    return new Promise<OpenedSource>((resolve, reject) => {
      const opened = { ...openCustomSource(source), close: async () => void closed.push(source.name) };
      const abort = () => reject(new Error('aborted'));
      const open = () => {
        signal?.removeEventListener('abort', abort);
        resolve(opened);
      };
      settle.set(source.name!, { open, fail: reject });
      signal?.addEventListener('abort', abort);
    });
  };
  return { begun, settle, openSource };
}

test('eight files are opened at once, and stay in order', async () => {
  const { begun, settle, openSource } = gates();
  const names = Array.from({ length: 20 }, (_, at) => `extent${at}`);
  const opening = Sources.open(
    openSource,
    own('top'),
    names.map((name) => own(name)),
    {},
  );
  await expect.poll(() => begun.length).toBe(8);
  // The last ones open first.
  while (begun.length < 21) {
    const count = begun.length;
    settle.get(begun[count - 1]!)!.open();
    await expect.poll(() => begun.length).toBe(count + 1);
  }
  for (const { open } of settle.values()) open();
  const sources = await opening;
  expect(sources.all.map(({ name }) => name)).toEqual(['top', ...names]);
});

test('if one file cannot be opened, the others are cancelled or closed', async () => {
  const { begun, settle, openSource } = gates();
  const names = Array.from({ length: 20 }, (_, at) => `extent${at}`);
  const opening = Sources.open(
    openSource,
    own('top'),
    names.map((name) => own(name)),
    {},
  );
  opening.catch(() => {});
  await expect.poll(() => begun.length).toBe(8);
  settle.get('extent2')!.open();
  await expect.poll(() => begun.length).toBe(9);
  settle.get('extent4')!.fail(new Error('gone'));
  await expect(opening).rejects.toThrow('gone');
  expect(begun).toHaveLength(9);
  expect(closed).toEqual(['extent2']);
});

test('announcements, networks and unnoticed changes of all sources together', async () => {
  const network = { received: 5, sent: 0, retries: 1 };
  const bare = await open(own('top'));
  expect([bare.expect, bare.networks, bare.unnoticed]).toEqual([false, [], []]);
  const sources = await open(
    own('top', { network, unnoticed: 'a sentence' }),
    own('middle', { expect: () => {}, unnoticed: 'a sentence' }),
    own('base', { network, unnoticed: 'another sentence' }),
  );
  expect([sources.expect, sources.networks, sources.unnoticed]).toEqual([
    true,
    [network, network],
    ['a sentence', 'another sentence'],
  ]);
  const stream = await Sources.open(
    async () => openStream(new ReadableStream(), { shown: 'disk', network }),
    '',
    [],
    {},
  );
  expect(stream.networks).toEqual([network]);
});

test('at the end, owners of files are asked, and a changed state is an error', async () => {
  const asked: string[] = [];
  const verifying = (name: string) => own(name, { verify: async () => void asked.push(name) });
  const changing: { state?: string } & Source = { ...verifying('base'), state: 'a' };
  const sources = await open(verifying('top'), changing);
  const never = new AbortController().signal;
  await sources.confirm(never);
  expect(asked).toEqual(['top', 'base']);
  Object.assign(changing, { state: 'b' });
  await expect(sources.confirm(never)).rejects.toMatchObject({ kind: 'source' });
});

test('a loan has ports for custom sources and streams', async () => {
  const settings = { isChosen: false, salvage: false, forceParent: false, spool: false, unpack: false };
  const sources = await open(own('top', { size: 7, expect: () => {} }), own('base', { size: 3 }));
  const loan = sources.lend(settings);
  expect(loan.image).toMatchObject({
    salvage: false,
    source: { size: 7, expects: true, port: loan.ports[0] },
    companions: [{ name: 'base', source: { size: 3, expects: false, port: loan.ports[1] } }],
  });
  loan.end();
  const stream = (await open(new ReadableStream())).lend(settings);
  expect(stream.image.source).toEqual({ stream: stream.ports[0] });
  stream.end();
});

test('the image is lent with the name of its file, by which its parts are found', async () => {
  const settings = { name: 'mine', isChosen: false, salvage: false, forceParent: false, spool: false, unpack: false };
  const specOf = (sources: Sources) => {
    const { companions, file } = sources.lend(settings).image;
    return { names: companions.map(({ name }) => name), file, image: companions.map(({ isImage }) => isImage) };
  };
  const sources = await open(own('d.001'), own('base'), own('d.003'), own('d.002'));
  const names = ['base', 'd.003', 'd.002'];
  expect(specOf(sources)).toEqual({ names, file: 'd.001', image: [false, false, false] });
  // An unpacked image has all parts.
  await sources.replaceImage(await openSource(own('content')), [1, 2]);
  expect(specOf(sources)).toEqual({ names, file: undefined, image: [false, true, true] });
  const stored = sources.withImage(await openSource(own('stored')));
  expect(specOf(stored)).toEqual({ names, file: undefined, image: [false, true, true] });
  const unnamed = await open(own(undefined), { name: 'd.vmdk.000000000', source: own('other') }, own('d.raw.00'));
  expect(specOf(unnamed).file).toBe('mine');
  unnamed.choose(0);
  expect(specOf(unnamed).file).toBe('d.vmdk.000000000');
  unnamed.choose(0);
  expect(specOf(unnamed).file).toBe('d.raw.00');
});

test('a disk that a configuration names is lent in place of the configuration, which stays open', async () => {
  const sources = await open(own('vm.vmx'), own('base'), own('disk'), { name: 'a.vmsd', source: own('list') });
  sources.choose(1);
  expect(sources.companions.map(({ name }) => name)).toEqual(['base', 'list', 'vm.vmx']);
  expect(sources.companions.map(({ standsFor }) => standsFor)).toEqual([undefined, 'a.vmsd', undefined]);
  expect(sources.all.map(({ name }) => name)).toEqual(['disk', 'base', 'list', 'vm.vmx']);
  await sources.close();
  expect(closed.toSorted()).toEqual(['base', 'disk', 'list', 'vm.vmx']);
});
