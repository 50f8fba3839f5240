// Declares types that a program may lack as empty. If the program has them, this adds nothing.
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
