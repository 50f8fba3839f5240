// What the page does where nobody drives its browser.

import { s3Target } from 'decant/upload';

const textOf = async (path, query) => (await fetch(`${path}?${new URLSearchParams(query)}`)).text();

const targets = {
  storage: () => ({ opfs: 'out.raw' }),
  s3: () => s3Target({ sign: ({ method, query }) => textOf('/sign', { method, query }) }),
};

/** Converts the image at `url`, or the file `image` of the machine. Resolves to how many seconds it took. */
export async function run({ build, url, image: path, sink = 'storage', format = 'raw' }) {
  const source = url ?? (await (await fetch(`/image?${new URLSearchParams({ path })}`)).blob());
  const start = performance.now();
  const image = await globalThis.builds[build].open(source);
  await image.convert(targets[sink](), { format });
  await image.close();
  return (performance.now() - start) / 1000;
}
