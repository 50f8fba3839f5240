// `crate/module/src/module.js`.

declare module 'decant-module' {
  export class Instance {
    constructor(name: string, exports: WebAssembly.Exports);
    static create(name: string, bytes: Uint8Array): Instance | undefined;
    readonly exports: WebAssembly.Exports;
    serve(request: Uint8Array, input: Uint8Array, output: Uint8Array, wipes: boolean): number | undefined;
  }
}
