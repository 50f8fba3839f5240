// Loops that might otherwise run without a pause.

/** Lets timers and other events run. It is not a timer: browsers delay those in hidden tabs. */
export const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    // Node.
    if ('setImmediate' in globalThis) {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
