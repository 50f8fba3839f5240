import { expect, test } from 'vitest';
import { CodecModules } from './codec-modules.js';
import { instantiate, type Workers } from './wasm.js';

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
