// The disks of a machine, which become one OVA.

import { type ConvertOptions, DecantError, type DiskImage, type Info, type OpenOptions, type Output } from 'decant';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { layerOf } from '../../worker/api/info.test-support.js';
import {
  Held,
  imageOf,
  images,
  inputNamed,
  OUTPUTS,
  openImage,
  outputOf,
  PAGE,
  RESULT,
  screenIn,
  soon,
  stepOf,
} from '../element.test-support.js';
import { noticesInList } from '../queue/queue-view.js';
import type { Step } from '../steps/state.js';
import { english } from '../texts/english/index.js';
import type { DiskToSave } from '../types.element.js';
import { Session } from './session.js';

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  open: (...args: Parameters<typeof openImage>) => openImage(...args),
  splitFiles: async () => [],
  targets: async () => [{ name: 'opfs', fits: true }],
}));

const OVA = outputOf('ova', '.ova', { compressed: true, resumable: false, streamable: false });

/** The properties of a disk, or a function that opens it. */
type Disk = Partial<DiskImage> | ((number: number, options: OpenOptions) => DiskImage | Error);

let session: Session;
/** The disks for which the page was asked. */
let saved: DiskToSave[];
/** The images that were opened and closed, in this order. */
let events: string[];
/** The options of the conversions, which `converted` settles. */
let conversions: ConvertOptions[];
let converted: Held<typeof RESULT>;

beforeEach(() => {
  for (const [name, value] of Object.entries(PAGE)) vi.stubGlobal(name, value);
  [saved, events, conversions, converted] = [[], [], [], new Held()];
  const output = (disk: DiskToSave) => {
    saved.push(disk);
    return new WritableStream();
  };
  session = new Session(screenIn({ output }).screen.host, () => {});
  images.clear();
});
afterEach(() => {
  session.end();
  vi.unstubAllGlobals();
});

const step = <S extends Parameters<typeof stepOf>[1]>(name: S) => stepOf(session, name);
const rows = () => session.queue.items.map(({ bundle, status }) => `${bundle.top.file.name} ${status}`);

/** The image of disk `number` of the archive. */
function disk(
  number: number,
  { name, salvage }: OpenOptions,
  info: Partial<Info> = {},
  more: Partial<DiskImage> = {},
): DiskImage {
  events.push(`open ${number}${salvage ? ' to salvage' : ''}`);
  const convert = (_output: Output, options: ConvertOptions = {}) => {
    conversions.push(options);
    return converted.promise;
  };
  const close = async () => void events.push(`close ${number}`);
  return imageOf(
    { name: name!, virtualSize: number * 1000, ...info },
    { formats: [...OUTPUTS, OVA], convert, close, ...more },
  );
}

/** Gives an archive with `disks`, chooses all of them, and the format OVA. */
async function give(...disks: Disk[]): Promise<void> {
  const members = disks.map((_, at) => ({ name: `${at + 1}.vmdk`, size: 1 }));
  const choice = new DecantError('usage', 'Choose', { code: 'several-images', fields: { disks: members } });
  images.set('vm.tar', (options) => {
    const number = Number(options.disk ?? 0);
    const one = disks[number - 1];
    if (!one) return choice;
    return typeof one === 'function' ? one(number, options) : disk(number, options, {}, one);
  });
  session.take([inputNamed('vm.tar')]);
  await step('disks');
  session.chooseDisks(disks.map((_, at) => at));
  await step('ready');
  session.chooser.selectOutput(OVA);
}

/** Waits until the disks are open together. */
const together = () =>
  soon((): Step<'ready'> => {
    expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar', survey: { complete: true } });
    return session.state as Step<'ready'>;
  });

/** A disk that needs this password. */
const lockedBy =
  (password: string): Disk =>
  (number, options) => {
    const layer = layerOf('locked', { encryption: 'luks' });
    const unlock = async () => {
      const given = typeof options.password === 'function' ? await options.password(layer) : options.password;
      if (given !== password) throw new DecantError('password', 'The password is wrong');
    };
    const needs = options.password ? [] : [{ kind: 'password', of: 'locked' } as const];
    return disk(number, options, { layers: [layer], needs }, { unlock });
  };
const locked = lockedBy('right');

/** A disk that is damaged, unless it is salvaged. */
const damaged: Disk = (number, options) =>
  options.salvage
    ? disk(
        number,
        options,
        {},
        {
          map: async function* () {
            yield { kind: 'data', offset: 0, length: 512 } as never;
          },
        },
      )
    : new DecantError('corrupt', 'It is damaged');

test('the notices of a result are shown once', async () => {
  await give({}, {});
  session.joinDisks();
  await together();
  session.convert();
  await soon(() => expect(conversions).toHaveLength(1));
  converted.resolve({ ...RESULT, notices: [{ code: 'dirty', fields: {}, message: 'It was not closed' }] });
  await step('done');
  const [item] = session.queue.items;
  expect(item!.notices).toHaveLength(1);
  expect(noticesInList(item!, session)).toEqual([]);
});

test('all disks are opened once, and converted in their order', async () => {
  const data = async function* () {
    yield { kind: 'data', offset: 0, length: 500, depth: 0, compressed: false, encrypted: false } as const;
  };
  await give({ map: data }, { map: data }, { map: data });
  session.openNext(session.queue.waiting[0]!.id);
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar: 2.vmdk (2\u00a0KB)' }));
  session.chooser.rename('typed.ova');
  expect(session.joinable).toBe(3);
  events = [];
  session.joinDisks();
  const { image, others, name, survey } = await together();
  expect([image, ...others].map(({ info }) => info.name)).toEqual([
    'vm.tar: 1.vmdk',
    'vm.tar: 2.vmdk',
    'vm.tar: 3.vmdk',
  ]);
  expect([name, rows(), events]).toEqual(['vm.ova', ['vm.tar current'], ['open 1', 'open 3']]);
  expect([survey.data, survey.picture?.layerNames]).toEqual([1500, ['1.vmdk', '2.vmdk', '3.vmdk']]);
  // The second disk begins after the 1,000 bytes of the first.
  expect([0, 500, 1000, 1499, 1500, 3000].map((at) => survey.picture!.summary(at, at + 1).content)).toEqual([
    ...['data', 'unknown', 'data', 'data', 'unknown', 'data'],
  ]);
  expect([1000, 3000].map((at) => survey.picture!.summary(at, at + 1).layer)).toEqual([1, 2]);
  session.convert();
  expect(await step('converting')).toMatchObject({ name: 'vm.tar', target: { kind: 'host', name: 'vm.ova' } });
  await soon(() => expect(conversions).toMatchObject([{ format: 'ova', disks: others }]));
  expect(saved).toMatchObject([{ name: 'vm.ova', format: { name: 'ova' } }]);
  converted.resolve({
    ...RESULT,
    lost: [{ disk: 2, offset: 100, length: 1, code: 'damaged', message: 'it is damaged' }],
  });
  const { made, picture } = await step('done');
  expect(made).toMatchObject([{ file: 'vm.ova', format: 'ova' }]);
  expect(picture!.summary(1100, 1101).content).toBe('lost');
  // The single file counts as one result.
  expect([rows(), session.overall]).toEqual([['vm.tar done'], undefined]);
  session.reset();
  expect(events.slice(2).toSorted()).toEqual(['close 1', 'close 2', 'close 3']);
});

test('a password is asked for once, and the disks that are open stay open', async () => {
  await give({}, locked, {});
  events = [];
  session.joinDisks();
  expect(await step('needs')).toMatchObject({ needs: [{ kind: 'password' }], notice: undefined });
  expect(session.opening?.bundle.disk?.number).toBe(2);
  session.unlock('locked', 'wrong', false);
  await soon(() => expect(session.state).toMatchObject({ step: 'needs', notice: 'The password is wrong.' }));
  session.unlock('locked', 'right', false);
  await together();
  expect(events).toEqual(['open 2', 'close 2', 'open 2', 'close 2', 'open 2', 'open 3']);
  // Nor is it asked for when each disk is opened alone.
  session.separateDisks();
  await soon(() =>
    expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar: 1.vmdk (1\u00a0KB)', name: 'vm-disk1.ova' }),
  );
  expect(rows()).toEqual(['vm.tar current', 'vm.tar waiting', 'vm.tar waiting']);
  session.openNext();
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar: 2.vmdk (2\u00a0KB)' }));
});

test('disks that share a password ask for it once', async () => {
  await give({}, locked, {}, locked);
  session.joinDisks();
  await step('needs');
  session.unlock('locked', 'right', false);
  expect((await together()).others).toHaveLength(3);
});

test('a disk with another password asks for it, and does not call the first one wrong', async () => {
  await give({}, locked, lockedBy('other'));
  session.joinDisks();
  await step('needs');
  session.unlock('locked', 'right', false);
  await soon(() => expect(session.opening?.bundle.disk?.number).toBe(3));
  expect((await step('needs')).notice).toBeUndefined();
  session.unlock('locked', 'other', false);
  expect((await together()).others).toHaveLength(2);
});

test('a disk that cannot be opened is named, and can be salvaged with the others', async () => {
  await give({}, damaged);
  session.joinDisks();
  const { title, remedies } = await step('failed');
  expect([title, remedies]).toEqual([english.notOpened('vm.tar: 2.vmdk'), ['salvage']]);
  expect(rows()).toEqual(['vm.tar failed']);
  events = [];
  session.takeRemedy('salvage');
  await together();
  expect(session.isSalvage).toBe(true);
  expect(events).toEqual(['close 1', 'open 2 to salvage', 'open 1 to salvage']);
});

test('a disk that cannot be opened, or whose password is not known, can be left out', async () => {
  await give({}, damaged, locked, {});
  session.joinDisks();
  await step('failed');
  session.separateDisks();
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar: 1.vmdk (1\u00a0KB)' }));
  session.remove(session.queue.items[1]!.id);
  session.joinDisks();
  await step('needs');
  session.separateDisks();
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar: 1.vmdk (1\u00a0KB)' }));
  session.remove(session.queue.items[1]!.id);
  expect(session.joinable).toBe(2);
  session.joinDisks();
  const { image, others } = await together();
  expect([image, ...others].map(({ info }) => info.name)).toEqual(['vm.tar: 1.vmdk', 'vm.tar: 4.vmdk']);
  expect(rows()).toEqual(['vm.tar current']);
});

test('after a failed conversion, all disks are opened again, for a file of the same name', async () => {
  await give({}, {});
  session.joinDisks();
  await together();
  session.chooser.rename('mine.ova');
  session.convert();
  converted.reject(new DecantError('target', "'2.vmdk', disk 2 of 2: there is no space left"));
  const { message, title } = await step('failed');
  expect([title, message]).toEqual([english.notConverted('vm.tar'), "'2.vmdk', disk 2 of 2: there is no space left."]);
  events = [];
  session.takeRemedy('saveAgain');
  expect((await together()).name).toBe('mine.ova');
  expect(events.toSorted()).toEqual(['close 1', 'close 2', 'open 1', 'open 2']);
});

test('disks that wait for another image are opened together again', async () => {
  images.set('z.qcow2', imageOf({ name: 'z.qcow2' }));
  await give({}, {});
  session.take([inputNamed('z.qcow2')]);
  await soon(() => expect(rows()).toEqual(['vm.tar waiting', 'z.qcow2 current', 'vm.tar waiting']));
  session.openNext(session.queue.items[2]!.id);
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', label: 'vm.tar: 2.vmdk (2\u00a0KB)' }));
  session.joinDisks();
  await together();
  expect(rows()).toEqual(['vm.tar current', 'z.qcow2 waiting']);
  const [machine, other] = session.queue.items;
  session.openNext(other!.id);
  await soon(() => expect(session.state).toMatchObject({ step: 'ready', label: 'z.qcow2' }));
  session.openNext(machine!.id);
  expect((await together()).others).toHaveLength(1);
});
