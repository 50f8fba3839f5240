// Compares images on a server, over a network of 20 ms and 100 MB/s, with curl with as many connections.

import { statSync, writeFileSync } from 'node:fs';
import { builds } from './arguments.mjs';
import { allocated, at, halves, image, part } from './images.mjs';
import { alternate, median, OUT, perBuild, print, printRatios, table, timed } from './report.mjs';
import { ImageServer } from './servers.mjs';

const CONNECTIONS = 6;
const REQUEST = 4 << 20;

/** The file in ranges of 4 MiB. */
const everything = (path) => {
  const { size } = statSync(path);
  return Array.from({ length: Math.ceil(size / REQUEST) }, (_, number) => {
    const start = number * REQUEST;
    return { start, end: Math.min(start + REQUEST, size) };
  });
};

/** Seconds that curl takes for `ranges` of the file at `url`. */
function curl(url, ranges) {
  const requests = ranges.map(
    ({ start, end }) => `url = "${url}"\nrange = "${start}-${end - 1}"\noutput = "/dev/null"`,
  );
  const file = at('curl.txt');
  writeFileSync(file, requests.join('\nnext\n'));
  const options = ['--parallel', '--parallel-max', CONNECTIONS, '--parallel-immediate', '--silent', '--show-error'];
  return timed('curl', ...options.map(String), '--config', file).real;
}

async function measure(title, path, rivals, server, browser) {
  const url = `${server.origin}/${path.split('/').at(-1)}`;
  print(`\n## On a server: ${title}, ${(statSync(path).size / 1e6).toFixed(0)} MB`);
  const convert = ({ command }) => timed(process.execPath, command, 'convert', url, OUT).real;
  const curls = Object.entries(rivals).map(([name, ranges]) => [name, () => curl(url, ranges(path))]);
  const times = await alternate({
    ...Object.fromEntries(curls),
    ...perBuild('Node', convert),
    ...perBuild('Chromium to OPFS', (build) => browser.convertAddress(build, url)),
  });
  const [best] = Object.keys(rivals).toSorted((a, b) => median(times[a]) - median(times[b]));
  printRatios(times, best);
  const { requests, bytes } = await server.counting(() => convert(builds[0]));
  const needed = allocated(path).reduce((sum, { start, end }) => sum + end - start, 0);
  const expected = title.startsWith('every') ? needed : statSync(path).size;
  table(['requests', 'bytes', 'against those needed'], [[requests, bytes, `${(bytes / expected).toFixed(3)} ×`]]);
}

export async function network(browser) {
  const server = await ImageServer.start();
  try {
    await measure('compressed', image('zlib'), { 'curl, everything': everything }, server, browser);
    await measure('not compressed', part(), { 'curl, everything': everything }, server, browser);
    const ways = { 'curl, everything': everything, 'curl, each range': allocated };
    await measure('every second cluster', halves(), ways, server, browser);
  } finally {
    await server.stop();
  }
}
