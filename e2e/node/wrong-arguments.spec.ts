// Wrong arguments of every public function: each is refused with `usage` and a sentence, whatever the value is.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Contents from '../../dist/contents.js';
import type * as Decant from '../../dist/node.js';
import type * as Places from '../../dist/places.js';
import type * as Uploads from '../../dist/upload.js';
import { expect, test } from '../support/node.js';

const load = (name: string) => import(fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url)));
const decant = (await load('node')) as typeof Decant;
const uploads = (await load('upload')) as typeof Uploads;
const { contentsOf } = (await load('contents')) as typeof Contents;
const { nextStep } = (await load('places')) as typeof Places;
test.afterAll(() => decant.dispose());

const throwing = () => {
  throw new Error('no');
};
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const VALUES: Record<string, unknown> = {
  null: null,
  'a number': 7,
  'no number': Number.NaN,
  'a bigint': 1n,
  'a string': 'a',
  'a boolean': true,
  'a symbol': Symbol('a'),
  'an object': {},
  'an object without a prototype': Object.create(null),
  'an array with a symbol': [Symbol('a')],
  'a function': () => {},
  'an object that looks like a signal': { aborted: false, addEventListener() {}, removeEventListener() {} },
  'an object that cannot be a string': { toString: throwing },
  'an object whose properties cannot be read': new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing }),
  'a revoked proxy': revoked(),
};

const isText = (value: unknown) => typeof value === 'string';
const isFunction = (value: unknown) => typeof value === 'function';
const isBoolean = (value: unknown) => typeof value === 'boolean';
const isWhole = (value: unknown) => Number.isSafeInteger(value);
const isNone = () => false;
const isNull = (value: unknown) => value === null;
/** Objects, whose properties or names matter: other tests have them. */
const isObject = (value: unknown) => typeof value === 'object' && value !== null && value !== VALUES['a revoked proxy'];

/** A call with `value`, and which values are right, or wrong for another reason than their type. */
type Row = [what: string, call: (value: never) => unknown, isRight: (value: unknown) => boolean];

async function check(rows: Row[]): Promise<void> {
  const wrong: string[] = [];
  for (const [what, call, isRight] of rows) {
    for (const [name, value] of Object.entries(VALUES)) {
      if (isRight(value)) continue;
      const result = await (async () => call(value as never))().catch((thrown: unknown) => thrown);
      const isRefused = decant.DecantError.is(result) && result.kind === 'usage' && result.message.length > 10;
      if (!isRefused)
        wrong.push(`${what}, ${name}: ${String((result as Error | undefined)?.message ?? typeof result)}`);
    }
  }
  expect(wrong).toEqual([]);
}

const options = (names: Record<string, (value: unknown) => boolean>, call: (options: object) => unknown): Row[] =>
  Object.entries(names).map(([name, isRight]) => [name, (value: never) => call({ [name]: value }), isRight]);

const DISK = new Uint8Array(4096);

test('open', () =>
  check([
    ['the image', (value) => decant.open(value, { inputFormat: 'raw' }), (value) => isText(value) || isObject(value)],
    ['the options', (value) => decant.open(DISK, value), (value) => isObject(value) || value === null],
    [
      'a companion',
      (value) => decant.open(DISK, { inputFormat: 'raw', companions: [value] }),
      (value) => isText(value) || isObject(value),
    ],
    ...options(
      {
        assumePassword: isBoolean,
        checkManifest: isBoolean,
        companions: (value) => value === VALUES['an array with a symbol'],
        disk: (value) => isText(value) || value === 7,
        engine: isNull,
        fetch: isFunction,
        headers: isNone,
        inputFormat: isText,
        limit: isNone,
        name: isText,
        onProgress: isFunction,
        onWaiting: isFunction,
        password: (value) => isText(value) || isFunction(value),
        salvage: isBoolean,
        signal: isNull,
        snapshot: isText,
        spool: (value) => isText(value) || isBoolean(value),
        workers: (value) => value === 7 || value === null,
      },
      (given) => decant.open(DISK, { inputFormat: 'raw', ...given }),
    ),
  ]));

test('other functions of the package', () =>
  check([
    ...options({ engine: isNull, workers: (value) => value === 7 || value === null }, (given) => decant.prepare(given)),
    ['sha256', (value) => decant.sha256(value), isNone],
    ...options({ onProgress: isFunction, signal: isNull }, (given) => decant.sha256(new Blob(['a']), given)),
    ['httpSource', (value) => decant.httpSource(value), isNone],
    ...options(
      {
        credentials: isNone,
        fetch: isFunction,
        headers: (value) => isFunction(value) || isObject(value),
        limit: isNone,
        patience: (value) => value === 7,
        signal: isNull,
        timeout: (value) => value === 7,
      },
      (given) => decant.httpSource('http://localhost:1/', given),
    ),
    ['splitFiles', (value) => decant.splitFiles(value), isNone],
    ['splitFiles, a name', (value) => decant.splitFiles([value]), isText],
    ['RequestLimit', (value) => new decant.RequestLimit(value), (value) => value === 7],
    ...options({ codec: isFunction, wasm: isFunction, worker: isFunction }, (given) => decant.configure(given)),
    ['contentsOf', (value) => contentsOf(value, 1000), isFunction],
    ['contentsOf, the size', (value) => contentsOf(async () => DISK, value), isWhole],
    [
      'contentsOf, the bytes',
      (value) => contentsOf(async () => value, 1000),
      (value) => isObject(value) || !isText(value),
    ],
    ['nextStep', (value) => nextStep(value, { file: 'a', format: 'raw', outputSize: 1, virtualSize: 1 }), isText],
    ['nextStep, the disk', (value) => nextStep('azure', value), isNone],
    ...options(
      {
        file: isText,
        format: isText,
        outputSize: isWhole,
        virtualSize: isWhole,
        machine: isText,
        hardware: isObject,
        contents: isNone,
      },
      (given) => nextStep('azure', [{ file: 'a', format: 'raw', outputSize: 1, virtualSize: 1, ...given }]),
    ),
    ...options({ cpus: isWhole, memory: isWhole, firmware: isText, os: isText, controller: isText }, (hardware) =>
      nextStep('azure', { file: 'a', format: 'raw', outputSize: 1, virtualSize: 1, hardware }),
    ),
    [
      'nextStep, the values',
      (value) => nextStep('azure', { file: 'a', format: 'raw', outputSize: 1, virtualSize: 1 }, value),
      isObject,
    ],
    ...options({ GROUP: isText }, (values) =>
      nextStep('azure', { file: 'a', format: 'raw', outputSize: 1, virtualSize: 1 }, values as Record<string, string>),
    ),
  ]));

test('methods of an image', async ({ folder }) => {
  const image = await decant.open(DISK, { inputFormat: 'raw' });
  if (image.streamed) throw new Error('it is read in order');
  const output = join(folder, 'out.raw');
  const map = async (given: object) => {
    for await (const _ of image.map(given));
  };
  await check([
    ['read, the offset', (value) => image.read(value, 1), isWhole],
    ['read, the length', (value) => image.read(0, value), isWhole],
    ...options({ signal: isNull }, (given) => image.read(0, 1, given)),
    ...options({ signal: isNull }, (given) => map(given)),
    ...options({ deep: isBoolean, onProgress: isFunction, signal: isNull }, (given) => image.check(given)),
    ...options({ onProgress: isFunction, signal: isNull, tree: isBoolean }, (given) => image.digest(given as object)),
    ['compare', (value) => image.compare(value), isNone],
    ...options(
      { firstOnly: isBoolean, onProgress: isFunction, onRanges: isFunction, signal: isNull, strict: isBoolean },
      (given) => image.compare(image, given),
    ),
    ...options({ format: isNone, formatOptions: isObject, signal: isNull, size: isWhole }, (given) =>
      image.measure(given),
    ),
    ...options({ onProgress: isFunction, signal: isNull }, (given) => image.unlock(given)),
    ...options({ length: isWhole, offset: isWhole, signal: isNull }, (given) => image.readable(given)),
    ['convert', (value) => image.convert(value), (value) => isText(value) || isObject(value)],
    ['savedProgress', (value) => image.savedProgress(value), (value) => isText(value) || isObject(value)],
    ...options(
      {
        bmap: isBoolean,
        existing: isBoolean,
        fixGpt: isBoolean,
        for: isNone,
        format: isNone,
        formatOptions: isObject,
        memory: isNull,
        onProgress: isFunction,
        resume: isBoolean,
        sha256: isBoolean,
        signal: isNull,
        size: isWhole,
        sparse: isBoolean,
        spool: isText,
        sync: isBoolean,
        twoPass: isBoolean,
      },
      (given) => image.convert(output, given),
    ),
    [
      'a format option',
      (value) => image.convert(output, { format: 'qcow2', formatOptions: { compress: value } }),
      isBoolean,
    ],
  ]);
  await image.close();
});

test('targets of uploads', () => {
  const URL_OF = 'http://localhost:1/a';
  const keys = { accessKeyId: 'a', secretAccessKey: 'b', region: 'c' };
  const common = {
    credentials: isNone,
    fetch: isFunction,
    patience: (value: unknown) => value === 7,
    timeout: (value: unknown) => value === 7,
  };
  const withHeaders = { ...common, headers: (value: unknown) => isFunction(value) || isObject(value) };
  const { s3Target, gcsTarget, ...others } = uploads;
  return check([
    ['s3Target', (value) => s3Target(value), isNone],
    ...options({ ...common, keys: isNone, sign: isFunction, url: isNone }, (given) =>
      s3Target({ url: URL_OF, keys, ...given }),
    ),
    ['gcsTarget', (value) => gcsTarget(value), isNone],
    ...options({ ...withHeaders, session: isNone, url: isNone }, (given) => gcsTarget({ url: URL_OF, ...given })),
    ...[others.tusTarget, others.putTarget, others.azurePageBlobTarget, others.azureBlockBlobTarget].flatMap(
      (target): Row[] => [
        [target.name, (value) => target(value), isNone],
        ...options({ ...withHeaders, url: isNone }, (given) => target({ url: URL_OF, ...given })),
      ],
    ),
  ]);
});

test('texts to show may be anything', () => {
  for (const [name, value] of Object.entries(VALUES)) {
    expect(typeof decant.shownText(value as string), name).toBe('string');
    expect(typeof decant.shownMessage(value as string), name).toBe('string');
  }
});
