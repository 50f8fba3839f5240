// The package's types, as programs see them, and what linters of packages say.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, FULL, test } from '../support/node.js';
import { byScope } from '../support/scope.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = (name: string) => join(root, 'node_modules', '.bin', name);

/** What calls most of what is public, in Node. */
const NODE = `
  import { type AnyImage, configure, DecantError, type ErrorCode, open, type OutputFormatName, type PlaceName, type Target } from 'decant';
  import { checkTarget } from 'decant/testing';
  type KnownCode = ErrorCode extends infer Code ? Code extends string ? string extends Code ? never : Code : never : never;
  export async function convert(path: string, bytes: Uint8Array): Promise<number> {
    configure({});
    const image: AnyImage = await open(path, { companions: [{ name: 'base', source: bytes }], password: () => 'secret' });
    const kept: Uint8Array[] = [];
    const target: Target = {
      async write(_offset, bytes) { kept.push(bytes.subarray(1)); },
      async close() {},
      async abort(reason) { throw reason; },
    };
    await image.convert('out.raw', { sync: true, onProgress: ({ cells }) => void cells?.length });
    if (image.streamed) return image.info.fileSize ?? 0;
    const format: OutputFormatName = 'vhdx';
    // @ts-expect-error a misspelt code is not known
    const code: KnownCode = 'storage-ful';
    await image.convert('out', { format, for: 'hyperv' satisfies PlaceName }).catch(({ code: found }) => found === code);
    for await (const { kind } of image.map()) if (kind === 'lost') break;
    await checkTarget(() => target, async () => undefined);
    try {
      return (await image.convert(target)).lostBytes;
    } catch (error) {
      if (DecantError.is(error) && error.cause instanceof Error) throw error.cause;
      if (error instanceof Error && DecantError.is(error)) throw new Error(error.kind);
      if (error instanceof DecantError && DecantError.is(error)) void [error.toJSON().code, error.name === 'AbortError'];
      return DecantError.is(error) && error.kind === 'password' ? (await image.read(0, 512)).length : 0;
    }
  }`;

/** The options of output formats, typed by the format. */
const FORMAT_OPTIONS = `
  import { type ConvertOptions, type DiskImage, type FormatOptions, open, type OutputFormatName } from 'decant';
  export async function convert(image: DiskImage, bytes: number, name: string, value: string): Promise<void> {
    await image.convert('out', { format: 'qcow2', formatOptions: { cluster_size: 65536, lazy_refcounts: true } });
    await image.convert('out', { format: 'qcow2', formatOptions: { cluster_size: bytes, compress: true, compat: '0.10' } });
    await image.convert('out', { format: 'vhdx', formatOptions: { block_size: '8M', subformat: 'fixed', uuid: value } });
    await image.convert('out', { format: 'ova', formatOptions: { cpus: 4, memory: '3G', os: 'debian11_64Guest' } });
    await image.measure({ format: 'vpc', formatOptions: { subformat: 'dynamic' } });
    await image.savedProgress('out', { format: 'vdi', formatOptions: { static: 'on' } });
    // A format that is known only when the program runs.
    for (const { name, recommended } of image.formats) await image.convert('out', { format: name, formatOptions: recommended });
    await image.convert('out', { format: name, formatOptions: { [name]: value, level: 5, fast: true } });
    await image.convert('out', { for: 'azure', formatOptions: { subformat: 'fixed' } });
    const options: ConvertOptions = { format: 'qcow2', formatOptions: { compress: 'on' }, signal: undefined };
    await image.convert('out', options);
    const ofFormat: FormatOptions<'qcow2'> = { compress: true };
    await image.convert('out', { format: 'qcow2', formatOptions: ofFormat });
    const ofAny: OutputFormatName = 'raw.gz';
    await image.convert('out', { format: ofAny, formatOptions: {} });
    // @ts-expect-error an option of no format
    await image.convert('out', { format: 'qcow2', formatOptions: { clustersize: 65536 } });
    // @ts-expect-error an option of another format
    await image.convert('out', { format: 'qcow2', formatOptions: { block_size: '8M' } });
    // @ts-expect-error a raw disk has no clusters
    await image.convert('out', { format: 'raw', formatOptions: { cluster_size: 65536 } });
    // @ts-expect-error an option of a format without options
    await image.convert('out', { format: 'raw.gz', formatOptions: { level: 5 } });
    // @ts-expect-error no such compression
    await image.convert('out', { format: 'qcow2', formatOptions: { compression_type: 'lzo' } });
    // @ts-expect-error a switch is not a number
    await image.convert('out', { format: 'qcow2', formatOptions: { compress: 1 } });
    // @ts-expect-error a size is no switch
    await image.measure({ format: 'qcow2', formatOptions: { cluster_size: true } });
    // @ts-expect-error no such unit
    await image.savedProgress('out', { format: 'qcow2', formatOptions: { cluster_size: '64 kB' } });
    // @ts-expect-error an object is no value
    await image.convert('out', { format: name, formatOptions: { level: {} } });
  }
  export const undefinedOptions = (path: string, signal: AbortSignal | undefined, size: number | undefined) =>
    open(path, { signal, headers: undefined, companions: undefined }).then((image) =>
      image.convert('out', { signal, size, formatOptions: undefined }));
  export async function results(image: DiskImage): Promise<void> {
    const result = await image.convert('out');
    // @ts-expect-error results are read-only
    result.outputSize = 1;
    // @ts-expect-error and so are their lists
    result.lost.push({ offset: 0, length: 1, code: 'truncated', message: '' });
  }`;

/** Uploads: requests and options by their kind. */
const UPLOADS = `
  import { open } from 'decant';
  import { gcsTarget, putTarget, type S3Request, s3Target } from 'decant/upload';
  export function numberOf(request: S3Request): string | number {
    // @ts-expect-error a request that begins an upload has no ID
    if (request.action === 'create') return request.uploadId;
    return request.action === 'part' ? request.partNumber : request.action === 'list' ? request.partNumberMarker : '';
  }
  const [url, sign] = ['https://localhost/disk', (request: S3Request) => request.action];
  const keys = { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: undefined };
  export const targets = [s3Target({ sign }), s3Target({ url, keys }), gcsTarget({ url }), gcsTarget({ session: url })];
  // @ts-expect-error either a function signs, or keys
  export const both = s3Target({ sign, url, keys });
  // @ts-expect-error a session has its own URL
  export const twice = gcsTarget({ url, session: url });
  export async function upload(path: string): Promise<number> {
    const image = await open(path);
    return (await image.convert(putTarget({ url: 'https://localhost/disk', headers: { 'X-Name': 'disk' } }))).outputSize;
  }`;

/** What it must not do. */
const WRONG_IN_NODE = `
  import type { DiskImage } from 'decant';
  // @ts-expect-error the private file system is one of browsers
  export const wrong = (image: DiskImage) => image.convert({ opfs: 'out.raw' });
  // @ts-expect-error and so are the parts that it keeps
  export { leftovers } from 'decant';`;

/** The same in browsers. */
const BROWSER = `
  import { configure, type DiskImage, leftovers, open, targets } from 'decant/browser';
  import { DecantConverter, type DecantConverterElement, type Texts } from 'decant/element';
  import { threads } from 'decant/threads';
  export function makeConverter(): DecantConverterElement {
    const converter: DecantConverterElement = document.createElement('decant-converter');
    converter.output = async ({ info, format, name }) => ({ opfs: info.format + format.outputSize?.toFixed() + name });
    const texts: Texts = { convert: 'Import', notOpened: (name) => name.trim(), ways: { download: 'here' } };
    converter.texts = { ...texts, share: 'some', place: ({ kind, name }) => kind + name, next: undefined };
    // @ts-expect-error there is no such text
    converter.texts = { conwert: 'Import' };
    // @ts-expect-error there is no such way
    converter.texts = { ways: { upload: 'here' } };
    // @ts-expect-error a text without values takes none
    converter.texts = { convert: () => 'Import' };
    // @ts-expect-error a name is no number
    converter.texts = { notOpened: (name: number) => name.toFixed() };
    converter.addEventListener('decant-done', ({ detail }) => void detail.outputSize.toFixed());
    // @ts-expect-error an error has no size
    converter.addEventListener('decant-error', ({ detail }) => void detail.outputSize);
    return converter ?? new DecantConverter();
  }
  export async function convert(file: File, folder: FileSystemDirectoryHandle): Promise<void> {
    const worker = () => new Worker('/decant/worker.js', { type: 'module' });
    configure({ threads, worker, wasm: (engine) => new URL(engine === 'workers' ? 'decant.wasm' : 'threads.wasm', 'https://localhost') });
    const image = await open(file, { signal: AbortSignal.timeout(9) });
    await image.convert({ folder, name: 'disk.raw' }, { format: 'vpc' });
    await image.convert(new WritableStream({ write: (chunk) => void new Blob([chunk]) }));
    // @ts-expect-error a streamed image is read by a conversion only
    await image.read(0, 3);
    if (!image.streamed) new Blob([await image.read(image.info.virtualSize - 3, 3)]);
    const kinds = await targets({ size: 3 });
    if (kinds.some(({ name, fits }) => name === 'opfs' && fits)) await image.convert({ opfs: 'a' });
    void (await leftovers())[0]?.guestDone.toFixed();
    // @ts-expect-error paths are of Node
    await open('disk.qcow2');
    // @ts-expect-error and so is sync
    await image.convert({ opfs: 'a' }, { sync: true });
    // @ts-expect-error and a path as an output
    await image.convert('out.raw');
  }`;

/** Disposing of an image at the end of a block. */
const USING = `
  import { open } from 'decant';
  export async function format(): Promise<string> {
    await using image = await open(new Uint8Array());
    return image.info.format;
  }`;

const NEWEST = 'node_modules/typescript';
const OLDER = 'tools/typescript/node_modules';
const COMPILERS = [`${OLDER}/typescript-5.0`, ...byScope({ short: [], long: [`${OLDER}/typescript-5.9`] }), NEWEST];
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
  // The compilers here find for it what they find for nodenext.
  ...byScope({ short: [], long: [{ module: 'node16', moduleResolution: 'node16' }] }),
];

interface Case {
  name: string;
  program: string;
  options: object;
  compilers?: string[];
}

/** A program for each entry of the package, and what they must not do. */
const IN_NODE: Case[] = [
  { name: 'Node, default libraries', program: NODE, options: { types: ['node'] } },
  {
    name: 'Node, options of formats',
    program: FORMAT_OPTIONS,
    options: { types: ['node'], exactOptionalPropertyTypes: true },
  },
  { name: 'Node, uploads', program: UPLOADS, options: { types: ['node'], exactOptionalPropertyTypes: true } },
  { name: 'Node, mistakes', program: WRONG_IN_NODE, options: { types: ['node'] } },
];
const IN_BROWSERS: Case[] = [{ name: 'a browser', program: BROWSER, options: { types: [] } }];

const CASES: Case[] = [
  ...IN_NODE,
  ...IN_BROWSERS,
  { name: 'Node, no DOM', program: NODE, options: { types: ['node'], lib: ['ES2022'] } },
  { name: 'Node, neither DOM nor @types/node', program: NODE, options: { types: [], lib: ['ES2022'] } },
  { name: 'Node, no @types/node', program: NODE, options: { types: [] } },
  { name: 'Node, libraries of 2021', program: NODE, options: { types: ['node'], lib: ['ES2021'] } },
  { name: 'a browser, libraries of 2021', program: BROWSER, options: { types: [], lib: ['ES2021', 'DOM'] } },
  {
    name: 'a page by its condition',
    program: BROWSER.replace('decant/browser', 'decant'),
    options: { types: [], customConditions: ['browser'] },
  },
  { name: 'a browser, beside @types/node', program: BROWSER, options: { types: ['node'] } },
  {
    name: 'await using',
    program: USING,
    options: { types: [], lib: ['ES2022', 'DOM', 'ESNext.Disposable'] },
    compilers: COMPILERS.slice(1),
  },
];

/** Packs the package into `folder`; answers with the path of the tarball. */
function pack(folder: string): string {
  mkdirSync(folder, { recursive: true });
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: root, stdio: 'ignore' });
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz'))!);
}

const fileOf = ({ name }: Case) => `${name.replace(/\W+/g, '-')}.ts`;

/** Unpacks the package where programs in `folder` find it, and writes the programs of `cases` there. */
function install(folder: string, cases: Case[]): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'decant'), { recursive: true });
  execFileSync('tar', ['-xzf', pack(join(folder, 'packed')), '-C', join(modules, 'decant'), '--strip-components=1']);
  symlinkSync(join(root, 'node_modules', '@types'), join(modules, '@types'));
  symlinkSync(join(root, 'node_modules', 'undici-types'), join(modules, 'undici-types'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const one of cases) writeFileSync(join(folder, fileOf(one)), one.program);
}

/** What a compiler is told besides, for a program that `resolution` finds the package for. */
function optionsFor({ name, options }: Case, resolution: (typeof RESOLUTIONS)[number]): object {
  // A program that is bundled for Node says so; by default a bundler's package is that of browsers.
  const conditions = resolution.module === 'esnext' && name.startsWith('Node') ? { customConditions: ['node'] } : {};
  const common = { strict: true, noEmit: true, target: 'es2022', skipLibCheck: false };
  return { ...common, ...resolution, ...conditions, ...options };
}

/** The programs by their options: those that are told the same are compiled together. */
function together(cases: Case[], resolution: (typeof RESOLUTIONS)[number]): Map<string, Case[]> {
  const groups = new Map<string, Case[]>();
  for (const one of cases) {
    const key = JSON.stringify(optionsFor(one, resolution));
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return groups;
}

/** Compiles `cases`; returns what the compiler says against them. */
function compile(folder: string, compiler: string, cases: Case[], resolution: (typeof RESOLUTIONS)[number]): string[] {
  const failures: string[] = [];
  for (const [options, group] of together(cases, resolution)) {
    const config = { compilerOptions: JSON.parse(options), files: group.map(fileOf) };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    try {
      const tsc = join(root, compiler, 'bin', 'tsc');
      execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8', stdio: 'pipe' });
    } catch (error) {
      failures.push(`${compiler}, ${options}: ${(error as { stdout: string }).stdout}`);
    }
  }
  return failures;
}

test('a program for each entry compiles', ({ folder }) => {
  install(folder, [...IN_NODE, ...IN_BROWSERS]);
  expect(compile(folder, NEWEST, IN_NODE, RESOLUTIONS[0]!)).toEqual([]);
  expect(compile(folder, NEWEST, IN_BROWSERS, RESOLUTIONS[1]!)).toEqual([]);
});

test('programs compile against the types, whatever compiles them', FULL, ({ folder }) => {
  test.setTimeout(300_000);
  install(folder, CASES);
  const failures: string[] = [];
  for (const compiler of COMPILERS) {
    const cases = CASES.filter(({ compilers = COMPILERS }) => compilers.includes(compiler));
    for (const resolution of compiler === NEWEST ? RESOLUTIONS : RESOLUTIONS.slice(0, 1)) {
      failures.push(...compile(folder, compiler, cases, resolution));
    }
  }
  expect(failures).toEqual([]);
});

test('linters of packages find nothing', { tag: '@full' }, ({ folder }) => {
  const packed = pack(folder);
  execFileSync(bin('publint'), ['run', packed, '--strict'], { stdio: 'pipe' });
  const scripts = ['worker.js', 'worker.threads.js', 'worker.node.mjs'];
  const without = ['--exclude-entrypoints', ...scripts, 'package.json'];
  execFileSync(bin('attw'), [packed, '--profile', 'esm-only', ...without], { stdio: 'pipe' });
});

test('packing is repeatable', FULL, ({ folder }) => {
  const [one, other] = [pack(join(folder, 'one')), pack(join(folder, 'other'))];
  expect(execFileSync('cmp', [one, other], { encoding: 'utf8' })).toBe('');
});
