// The module of zstd, instantiated for this thread.

const OUT_OF_MEMORY = -3;

let zstd;

export function instantiate(bytes) {
  try {
    // A copy: no browser compiles from shared memory.
    zstd = new WebAssembly.Instance(new WebAssembly.Module(bytes.slice())).exports;
    return true;
  } catch (thrown) {
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

export const decompress = (input, output) => run(zstd.decompress, input, output);
export const compress = (input, output) => run(zstd.compress, input, output);

/** Copies `input` to the module, and its output from there. Returns the result of `operation`. */
function run(operation, input, output) {
  const start = zstd.buffer(input.length + output.length);
  if (start === 0) return OUT_OF_MEMORY;
  new Uint8Array(zstd.memory.buffer, start, input.length).set(input);
  const result = operation(input.length, output.length);
  if (result > 0) output.set(new Uint8Array(zstd.memory.buffer, start + input.length, result));
  return result;
}
