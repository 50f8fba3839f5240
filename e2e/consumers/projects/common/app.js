// The use of the package in every project here, called by browser.spec.ts.

import { open } from 'decant';

async function hash(bytes) {
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A target as a caller may write it: it keeps the output in memory. */
function memory() {
  let bytes = new Uint8Array(0);
  return {
    async open({ outputSize }) {
      bytes = new Uint8Array(outputSize);
    },
    async write(offset, part) {
      bytes.set(part, offset);
    },
    async hole() {},
    async close() {},
    async abort() {},
    content: () => bytes,
  };
}

/** By name: the output for `convert`, and the hash of what is in it afterwards, where the page can know it. */
const OUTPUTS = {
  opfs: () => ({
    output: { opfs: 'disk.raw' },
    async made() {
      const root = await navigator.storage.getDirectory();
      return hash(await (await (await root.getFileHandle('disk.raw')).getFile()).arrayBuffer());
    },
  }),
  download: () => ({ output: { download: 'disk.raw' }, made: async () => undefined }),
  target: () => {
    const target = memory();
    return { output: target, made: () => hash(target.content()) };
  },
};

globalThis.convertImage = async ({ url, password, to }) => {
  const image = await open(await (await fetch(url)).blob(), { name: 'disk.qcow2', password });
  try {
    const { output, made } = OUTPUTS[to]();
    const { engine, workers, outputSize, time } = await image.convert(output);
    return { hash: await made(), engine, workers, outputSize, time };
  } finally {
    await image.close();
  }
};
