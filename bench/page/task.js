// The tasks of the page in a browser without Playwright.

import { s3Target } from 'decant/upload';

const textOf = async (path, query) => (await fetch(`${path}?${new URLSearchParams(query)}`)).text();

const targets = {
  storage: () => ({ opfs: 'out.raw' }),
  s3: () => s3Target({ sign: (request) => textOf('/sign', { request: JSON.stringify(request) }) }),
};

/** Converts the image at `url`, or the file `image` of the machine. Resolves to the seconds, and the milliseconds of long tasks. */
export async function run({ build, url, image: path, target = 'storage', format = 'raw' }) {
  const source = url ?? (await (await fetch(`/image?${new URLSearchParams({ path })}`)).blob());
  const longTasks = watchLongTasks();
  const start = performance.now();
  const image = await globalThis.builds[build].open(source);
  await image.convert(targets[target](), { format });
  await image.close();
  const seconds = (performance.now() - start) / 1000;
  return { seconds, longTasks: await longTasks() };
}

/** Watches the page's thread. The returned function resolves to the milliseconds of each task over 50 ms. */
function watchLongTasks() {
  const durations = [];
  const note = (entries) => durations.push(...entries.map(({ duration }) => duration));
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ type: 'longtask' });
  return async () => {
    // An entry is made after its task.
    await new Promise((done) => setTimeout(done, 100));
    note(observer.takeRecords());
    observer.disconnect();
    return durations;
  };
}
