// Replaces `workerHelpers.js` of wasm-bindgen-rayon: the package has started the threads already.

let enter: (receiver: number) => void;

/** Sets the function that lets the threads enter the pool with the address of its receiver. */
export function startThreadsBy(start: (receiver: number) => void): void {
  enter = start;
}

interface PoolBuilder {
  receiver(): number;
  build(): void;
}

/** Called by the bindings. */
export async function startWorkers(_module: unknown, _memory: unknown, builder: PoolBuilder): Promise<void> {
  enter(builder.receiver());
  builder.build();
}
