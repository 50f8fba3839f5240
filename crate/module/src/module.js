/** A module with separate memory, instantiated for this thread. */
export class Instance {
  /** Returns an instance of the module that exports the function `name`; `undefined` if memory runs out. */
  static create(name, bytes) {
    try {
      // A copy: no browser compiles from shared memory.
      return new Instance(name, new WebAssembly.Instance(new WebAssembly.Module(bytes.slice())).exports);
    } catch (thrown) {
      if (thrown instanceof RangeError) return undefined;
      throw thrown;
    }
  }

  /** The length of the buffer that was used since it was wiped. */
  used = 0;

  constructor(name, exports) {
    this.exports = exports;
    this.name = name;
  }

  /**
   * Copies `request` and `input` to the module, and the output from there. If `wipes` is set, wipes the buffer then. Returns
   * the module's result.
   */
  serve(request, input, output, wipes) {
    const { memory, buffer, [this.name]: serve } = this.exports;
    const inputStart = request.length;
    const outputStart = inputStart + input.length;
    const length = outputStart + output.length;
    const address = buffer(length);
    if (address === 0) return undefined;
    const sent = new Uint8Array(memory.buffer, address, outputStart);
    sent.set(request);
    sent.set(input, inputStart);
    const result = serve(request.length, input.length, output.length);
    // The module's memory may have grown.
    if (result > 0) output.set(new Uint8Array(memory.buffer, address + outputStart, result));
    this.used = Math.max(this.used, length);
    if (wipes) {
      new Uint8Array(memory.buffer, address, this.used).fill(0);
      this.used = 0;
    }
    return result;
  }
}
