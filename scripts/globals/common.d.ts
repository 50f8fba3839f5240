// What a program need not have the types of is empty for it. Where it has them, this adds nothing.
declare global {
  interface AbortSignal {}
  interface Blob {}
  // biome-ignore lint/suspicious/noExplicitAny: as the libraries declare it
  interface ReadableStream<R = any> {}
  interface URL {}
  // biome-ignore lint/suspicious/noExplicitAny: as the libraries declare it
  interface WritableStream<W = any> {}
  namespace WebAssembly {
    interface Module {}
  }
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}
