import { expect, test } from 'vitest';
import { CodecModules, instantiate, type Workers } from './wasm.js';

const failing = (thrown: Error) =>
  ({
    initSync: () => {
      throw thrown;
    },
  }) as unknown as typeof Workers;
const module = {} as WebAssembly.Module;

test('an instance that does not fit into memory', () => {
  const cause = new RangeError('could not allocate memory');
  const error = { kind: 'internal', code: 'out-of-memory', message: expect.stringContaining(cause.message), cause };
  expect(() => instantiate(failing(cause), module, new CodecModules(() => {}))).toThrow(expect.objectContaining(error));
});

test('another failure is unchanged', () => {
  const thrown = new Error('broken');
  expect(() => instantiate(failing(thrown), module, new CodecModules(() => {}))).toThrow(thrown);
});

test('each codec is asked for once until it is there, and again after a failure', async () => {
  const asked: string[] = [];
  const codecs = new CodecModules((name) => asked.push(name));
  const bytes = new Uint8Array(4);

  const [one, two] = [codecs.load('zstd'), codecs.load('zstd')];
  codecs.methods.refuseCodec('zstd', { kind: 'internal', code: 'wasm-not-loaded', fields: {}, message: 'gone' });
  for (const request of [one, two]) {
    await expect(request).rejects.toMatchObject({ kind: 'internal', code: 'wasm-not-loaded', message: 'gone' });
  }
  expect(asked).toEqual(['zstd']);

  const again = codecs.load('zstd');
  codecs.methods.provideCodec('zstd', bytes);
  expect(await again).toBe(bytes);
  expect(asked).toEqual(['zstd', 'zstd']);
});

test('an answer without a waiting call is ignored', () => {
  const codecs = new CodecModules(() => {});
  expect(() => codecs.methods.provideCodec('zstd', new Uint8Array())).not.toThrow();
});
