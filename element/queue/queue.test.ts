// The order of waiting images, and their results.

import { beforeEach, expect, test } from 'vitest';
import { inputNamed } from '../element.test-support.js';
import { type Bundle, labelOf } from '../files/bundle.js';
import { beginOpening, type Opening } from '../files/opening.js';
import type { Remedy, Step } from '../steps/state.js';
import { type Finished, type Item, type Made, Queue } from './queue.js';

const bundle = (name: string): Bundle => ({ top: inputNamed(name), companions: [], called: [name] });
const rows = (queue: Queue): string[] => queue.items.map(({ bundle, status }) => `${bundle.top.file.name} ${status}`);

const madeAs = (file: string, place?: string): Made => ({
  disk: { file, format: 'raw', outputSize: 1, virtualSize: 1 },
  result: { destination: place === undefined ? undefined : { name: place } } as Finished,
});

let queue: Queue;
const fail = (outcome: string, next: Remedy[] = []) => queue.fail(outcome, beginOpening(bundle('a')), next);
beforeEach(() => {
  queue = new Queue();
});

test('images wait in the order of their addition', () => {
  queue.add([bundle('a'), bundle('b')]);
  queue.add([bundle('c')]);
  expect(rows(queue)).toEqual(['a waiting', 'b waiting', 'c waiting']);
  expect(new Set(queue.items.map(({ id }) => id)).size).toBe(3);
});

test('new images come before waiting ones', () => {
  queue.add([bundle('a'), bundle('b')]);
  queue.take();
  queue.addFirst([bundle('c'), bundle('d')]);
  expect(rows(queue)).toEqual(['a current', 'c waiting', 'd waiting', 'b waiting']);
});

test.each([
  ['a', []],
  ['a', ['b']],
])('new images end the results of earlier ones: %s is done, %o wait', (done, waiting) => {
  queue.add([done, ...waiting].map(bundle));
  queue.take();
  queue.finish('saved', madeAs('a.raw'), false);
  queue.addFirst([bundle('c')]);
  expect(rows(queue)).toEqual(['c', ...waiting].map((name) => `${name} waiting`));
});

test.each([
  ['done', () => queue.finish('saved', madeAs('a.raw'), false)],
  ['failed', () => fail('Cancelled.')],
])('when the person leaves an image that is %s, only waiting images stay', (_, settle) => {
  queue.add([bundle('a'), bundle('b')]);
  queue.take();
  settle();
  queue.leave();
  expect(rows(queue)).toEqual(['b waiting']);
});

test('the first waiting image is taken, or the one with the given ID', () => {
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  expect(queue.take()?.bundle.top.file.name).toBe('a');
  expect(queue.take(queue.items[2]!.id)?.bundle.top.file.name).toBe('c');
  // An unfinished image waits again.
  expect(rows(queue)).toEqual(['a waiting', 'b waiting', 'c current']);
});

test('nothing is taken from an empty queue', () => {
  expect(queue.take()).toBeUndefined();
  queue.add([bundle('a')]);
  queue.take();
  fail('The image is truncated.');
  expect(queue.take()).toBeUndefined();
  expect(queue.items[0]).toMatchObject({ status: 'failed', outcome: 'The image is truncated.' });
});

test('an image that is done cannot be taken by its ID', () => {
  queue.add([bundle('a'), bundle('b')]);
  const { id } = queue.take()!;
  queue.finish('saved', madeAs('a.raw'), false);
  expect(queue.take(id)).toBeUndefined();
  expect(rows(queue)).toEqual(['a done', 'b waiting']);
});

test('only the current image gets a result', () => {
  queue.add([bundle('a'), bundle('b')]);
  queue.take();
  queue.finish('saved as a.raw', madeAs('a.raw'), false);
  expect(queue.items.map(({ outcome }) => outcome)).toEqual(['saved as a.raw', '']);
  fail('later');
  expect(rows(queue)).toEqual(['a done', 'b waiting']);
});

test('an image that is tried again is the current one, without a result', () => {
  const again = bundle('a');
  queue.add([again, bundle('b')]);
  queue.take();
  fail('The network is gone.');
  queue.resume(again);
  expect(queue.items[0]).toMatchObject({ status: 'current', outcome: '' });
  queue.resume(bundle('a'));
  expect(rows(queue)).toEqual(['a current', 'b waiting']);
});

test('an image that another one needs is taken from the queue, with its companions', () => {
  const middle = { ...bundle('middle'), companions: [inputNamed('base')], called: ['middle', '1234'] };
  queue.add([bundle('top'), middle, bundle('other')]);
  queue.take();
  expect(queue.claim(['top', 'elsewhere'])).toEqual([]);
  expect(queue.claim(['1234']).map(({ file }) => file.name)).toEqual(['middle', 'base']);
  expect(rows(queue)).toEqual(['top current', 'other waiting']);
});

test('removed, left and cleared images are gone', () => {
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  queue.take();
  const { id } = queue.items[1]!;
  expect(queue.remove(id)?.bundle.top.file.name).toBe('b');
  expect(queue.remove(id)).toBeUndefined();
  expect(rows(queue)).toEqual(['a current', 'c waiting']);
  queue.leave();
  expect(rows(queue)).toEqual(['c waiting']);
  expect(queue.waiting).toHaveLength(1);
  queue.clear();
  expect(queue.items).toEqual([]);
});

test('an item is replaced by several, which wait at its place', () => {
  const queue = new Queue();
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  queue.take(queue.items[1]!.id);
  const first = queue.split([{ bundle: bundle('b1') }, { bundle: bundle('b2') }]);
  expect(rows(queue)).toEqual(['a waiting', 'b1 waiting', 'b2 waiting', 'c waiting']);
  expect(queue.take(first)?.bundle.top.file.name).toBe('b1');
});

/** The disks of one machine, in the order of their numbers. */
function disksOf(top: string, count: number): Bundle[] {
  const whole = bundle(top);
  return Array.from({ length: count }, (_, at) => ({ ...whole, disk: { number: at + 1, name: `disk${at + 1}` } }));
}

test('the disks of a machine become one item, whatever was done with them before', () => {
  const queue = new Queue();
  const disks = disksOf('vm', 3);
  queue.add([bundle('a'), bundle('vm'), bundle('z')]);
  queue.take(queue.items[1]!.id);
  expect(queue.joinable(undefined)).toBe(0);
  queue.take(queue.split(disks.map((bundle) => ({ bundle }))));
  queue.finish('saved', madeAs('vm-disk1.vmdk'), false);
  queue.take(queue.items[3]!.id);
  const opening = beginOpening(disks[2]!);
  queue.take(queue.items[2]!.id, opening);
  expect(queue.joinable(beginOpening(disks[1]!))).toBe(3);
  expect(queue.join().map(({ bundle }) => bundle)).toEqual([disks[0], disks[2]]);
  expect(rows(queue)).toEqual(['a waiting', 'vm current', 'z waiting']);
  const joined = queue.items[1]!;
  expect(labelOf(joined.bundle)).toBe('vm');
  // An answer about one disk of the machine counts for the machine.
  const both = { ...opening, beside: [beginOpening(disks[0]!), beginOpening(disks[1]!)] };
  queue.take(queue.items[2]!.id, both);
  expect(queue.items[1]!.opening).toBe(both);
  expect(beginOpening(joined.bundle)).toMatchObject({
    bundle: disks[0],
    beside: [{ bundle: disks[1] }, { bundle: disks[2] }],
  });
  queue.take(joined.id);
  const made = madeAs('vm.ova');
  expect(queue.finish('saved', made, false)).toEqual([made.disk]);
  queue.resume(disks[1]!);
  expect(rows(queue)).toEqual(['a waiting', 'vm current', 'z waiting']);
});

test.each([
  // (what, snapshot of the machine, of the open disk, of the other disk, how many become one item)
  ['no state was chosen', undefined, undefined, undefined, 2],
  ['the state of the machine was chosen', '1', '1', '1', 2],
  ['another state of the open disk was chosen', undefined, '1', undefined, 0],
  ['another state of the other disk was chosen', '1', '1', undefined, 0],
])('%s', (_, ofMachine, ofOpen, ofOther, expected) => {
  const queue = new Queue();
  const state = (snapshot: string | undefined) => (snapshot === undefined ? {} : { snapshot });
  const [open, other] = disksOf('vm', 2).map((bundle) => ({ ...bundle, ...state(ofMachine) }));
  const openingOf = (bundle: Bundle, snapshot: string | undefined): Opening => {
    const { snapshot: _, ...opening } = beginOpening(bundle);
    return { ...opening, ...state(snapshot) };
  };
  queue.add([bundle('vm')]);
  queue.take();
  queue.take(queue.split([{ bundle: open! }, { bundle: other!, opening: openingOf(other!, ofOther) }]));
  expect(queue.joinable(openingOf(open!, ofOpen))).toBe(expected);
});

test('images that ask something come last, until only such are left', () => {
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  queue.take();
  expect(queue.postpone()).toBe(true);
  queue.take();
  expect(rows(queue)).toEqual(['b current', 'c waiting', 'a waiting']);
  expect(queue.postpone()).toBe(true);
  queue.take();
  queue.finish('saved', madeAs('a.raw'), false);
  queue.take();
  expect(rows(queue)).toEqual(['c done', 'a current', 'b waiting']);
  expect(queue.postpone()).toBe(false);
  fail('Cancelled.');
  expect(queue.results).toEqual({ done: 1, all: 2 });
});

test('an image that has failed can be taken by its ID, with its answers', () => {
  queue.add([bundle('a'), bundle('b'), bundle('c')]);
  const { id } = queue.take()!;
  fail('It is truncated.', ['salvage']);
  expect(queue.items[0]).toMatchObject({ status: 'failed', outcome: 'It is truncated.', remedies: ['salvage'] });
  // Without an ID, only waiting images are taken.
  expect(queue.take()?.bundle.top.file.name).toBe('b');
  expect(queue.take(id)).toMatchObject({ status: 'current', outcome: '', opening: { missing: [] } });
  expect(rows(queue)).toEqual(['a current', 'b waiting', 'c waiting']);
});

/** Gives the next image a result: the name of its file, or a failure. */
function settleNext(result: string | undefined, isDamaged = false): void {
  queue.take();
  if (result === undefined) fail('no');
  else queue.finish('saved', madeAs(result), isDamaged);
}

// (results in their order, what is known of all)
test.each([
  [['a.raw', undefined], { done: 1, all: 2, failed: ['b'], damaged: [] }],
  [[undefined, undefined], { done: 0, all: 2, failed: ['a', 'b'], damaged: [] }],
  [['a.raw', 'b.raw'], { done: 2, all: 2, failed: [], damaged: [] }],
  [['a.raw', 'damaged'], { done: 2, all: 2, failed: [], damaged: ['b'] }],
  // The second image is not finished yet.
  [['a.raw'], undefined],
] as const)('the results %j of two images', (results, overall) => {
  queue.add([bundle('a'), bundle('b')]);
  for (const result of results) settleNext(result, result === 'damaged');
  expect(queue.overall).toEqual(overall);
});

test('one image is no queue, and an image that is open again has no result', () => {
  queue.add([bundle('a')]);
  settleNext(undefined);
  expect(queue.overall).toBeUndefined();
  queue.add([bundle('b')]);
  settleNext('b.raw');
  expect(queue.overall).toBeDefined();
  queue.take(queue.items[0]!.id);
  expect(queue.overall).toBeUndefined();
});

test('names of files are known until another queue begins', () => {
  queue.add([bundle('a'), bundle('b')]);
  settleNext('a.raw');
  queue.begin();
  expect(queue.madeFiles).toEqual(['a.raw']);
  // More images are given while one is open.
  queue.take();
  queue.leave();
  queue.addFirst([bundle('c')]);
  settleNext('c.raw');
  expect(queue.madeFiles).toEqual(['a.raw', 'c.raw']);
  queue.begin();
  expect(queue.madeFiles).toEqual([]);
});

test('the disks of one archive that were made for the same place are known together, in its order', () => {
  const archive = bundle('vm.ova');
  const disk = (number: number): Bundle => ({ ...archive, disk: { number, name: `${number}` } });
  queue.add([bundle('a'), disk(1), disk(2), disk(3), disk(4)]);
  const ids = queue.items.map(({ id }) => id);
  const together = [
    [0, 'kvm'],
    [2, 'kvm'],
    [1, 'kvm'],
    [3, 'azure'],
    [4, 'kvm'],
  ].map(([at, place]) => {
    queue.take(ids[at as number]);
    return queue.finish('saved', madeAs(`${at}`, place as string), false).map(({ file }) => file);
  });
  expect(together).toEqual([['0'], ['2'], ['1', '2'], ['3'], ['1', '2', '4']]);
  expect(queue.madeFiles).toEqual(['0', '2', '1', '3', '4']);
});

test('all images follow the way of the first one, or of the one for which the person has chosen it', () => {
  const [a, b, c] = ['a', 'b', 'c'].map(bundle);
  queue.add([a!, b!, c!]);
  queue.take();
  expect(queue.wayBeside(a!)).toBeUndefined();
  queue.lead('download', a!);
  // The first image itself gets another one, for example with another output format.
  expect(queue.wayBeside(a!)).toBeUndefined();
  queue.lead('folder', a!);
  expect(queue.wayBeside(b!)).toBe('folder');
  // A way that is impossible for one image stays possible for the others.
  queue.lead('download', b!);
  expect(queue.wayBeside(c!)).toBe('folder');
  queue.lead('download', b!, true);
  expect([a!, b!, c!].map((one) => queue.wayBeside(one))).toEqual(['download', undefined, 'download']);
  queue.begin();
  expect(queue.wayBeside(c!)).toBe('download');
  queue.clear();
  expect(queue.wayBeside(c!)).toBeUndefined();
});

/** Takes `name`, and leaves its file to the browser. */
function leave(name: string): Item {
  queue.addFirst([bundle(name)]);
  queue.take();
  const state = { step: 'converting', target: { kind: 'host', name: `${name}.raw` } } as Step<'converting'>;
  return queue.leaveToBrowser({ state, virtualSize: 5, cancel: () => {}, end: () => {} })!;
}

const inBackground = () => queue.inBackground.map(({ bundle, status }) => `${bundle.top.file.name} ${status}`);

test.each([
  ['new images', () => queue.addFirst([bundle('c')]), ['c waiting']],
  ['the next image', () => queue.take(), []],
  ['the first screen', () => queue.begin(), []],
  ['the first screen with a queue', () => queue.leave(), []],
] as const)('what is left to the browser stays, and is not in the list: %s', (_, act, list) => {
  const first = leave('a');
  leave('b');
  queue.finish('saved', madeAs('a.raw'), false, [], first);
  act();
  expect(inBackground()).toEqual(['a done', 'b checking']);
  expect(rows(queue)).toEqual(list);
  expect(queue.isShown).toBe(list.length > 0);
});

test('the files that the browser checks are taken until they end', () => {
  const item = leave('a');
  expect(queue.taken).toEqual([{ file: 'a.raw', virtualSize: 5 }]);
  queue.begin();
  expect(queue.taken).toHaveLength(1);
  queue.fail('It is full', beginOpening(item.bundle), [], item);
  expect(queue.taken).toEqual([]);
});

test('what is left to the browser is no result of the queue, but has its commands with the other disks', () => {
  const whole = inputNamed('machine.ova');
  const disk = (number: number): Bundle => ({
    ...bundle('machine.ova'),
    top: whole,
    disk: { number, name: `${number}` },
  });
  queue.add([1, 2, 3].map(disk));
  queue.take();
  const first = queue.leaveToBrowser({
    state: {} as Step<'converting'>,
    virtualSize: 5,
    cancel: () => {},
    end: () => {},
  })!;
  for (const file of ['2.raw', '3.raw']) {
    queue.take();
    queue.finish('saved', madeAs(file, 'proxmox'), false);
  }
  expect(queue.overall).toEqual({ done: 2, all: 2, failed: [], damaged: [] });
  const made = queue.finish('saved', madeAs('1.raw', 'proxmox'), false, [], first);
  expect(made.map(({ file }) => file)).toEqual(['1.raw', '2.raw', '3.raw']);
  expect(queue.overall).toMatchObject({ done: 2, all: 2 });
});

test('a failure in the background that is opened again is in the list again', () => {
  const item = leave('a');
  expect(queue.take(item.id)).toBeUndefined();
  queue.fail('It is full', beginOpening(item.bundle), [], item);
  queue.take(item.id);
  expect([rows(queue), inBackground()]).toEqual([['a current'], []]);
});
