/** Whether requests are Node's own: a browser's `fetch` shows no redirects, and copies typed arrays on the page's thread. */
export const isNode = (): boolean =>
  globalThis.process?.versions?.node !== undefined && typeof document === 'undefined';
