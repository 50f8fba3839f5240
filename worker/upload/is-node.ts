/** Whether `fetch` is Node's: a browser's hides redirects, and copies typed arrays on the page's thread. */
export const isNode = (): boolean =>
  globalThis.process?.versions?.node !== undefined && typeof document === 'undefined';
