// Compares uploads, most to S3, over a network of 20 ms and 100 MB/s, with converting to a file and sending that file by curl.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { azureServer, KEYS, s3Server } from '../e2e/support/real-servers.mjs';
import { Presigner } from '../examples/console/server/presign.js';
import { builds } from './arguments.mjs';
import { allocated, at, half, large, part } from './images.mjs';
import { alternate, median, OUT, perBuild, print, printRatios, table, timed } from './report.mjs';
import { ImageServer, startProxy } from './servers.mjs';

/** The number of concurrent requests and the size of parts, as in an upload. */
const CONNECTIONS = 4;
const PART = '8M';

/** S3 over a network. */
class S3 {
  #presigner = new Presigner({ ...KEYS, region: 'us-east-1' });

  static async start() {
    const self = new S3();
    self.folder = at('s3');
    rmSync(self.folder, { recursive: true, force: true });
    mkdirSync(self.folder);
    self.server = await s3Server(self.folder);
    self.proxy = await startProxy(new URL(self.server.url).port);
    self.url = self.server.url.replace(/:\d+/, `:${self.proxy.port}`);
    return self;
  }

  /** Seconds of an upload by curl, from the start to the complete object. */
  async curl(path) {
    const folder = at('parts');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    execFileSync('split', ['-b', PART, '-a', '4', path, `${folder}/`]);
    const start = performance.now();
    const begun = await this.#post({ action: 'create' });
    const uploadId = /<UploadId>(.+)<\/UploadId>/.exec(begun)[1];
    const etags = await this.#sendParts(folder, uploadId);
    const list = etags.map(([n, etag]) => `<Part><PartNumber>${n}</PartNumber><ETag>${etag}</ETag></Part>`);
    const body = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`;
    await this.#post({ action: 'complete', uploadId }, body);
    const seconds = (performance.now() - start) / 1000;
    rmSync(folder, { recursive: true });
    return seconds;
  }

  /** Sends the files in `folder` by curl. Resolves to the number and the ETag of each part. */
  async #sendParts(folder, uploadId) {
    const requests = [];
    for (const [at, name] of readdirSync(folder).toSorted().entries()) {
      const partNumber = at + 1;
      const url = await this.sign({ action: 'part', uploadId, partNumber });
      const output = `write-out = "${partNumber} %header{etag}\\n"`;
      requests.push(
        `upload-file = "${folder}/${name}"\nurl = "${url}"\noutput = "/dev/null"\nfail\nsilent\nshow-error\n${output}`,
      );
    }
    const file = at('curl.txt');
    writeFileSync(file, requests.join('\nnext\n'));
    const parallel = ['--parallel', '--parallel-max', String(CONNECTIONS), '--parallel-immediate'];
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
    const printed = execFileSync('curl', [...parallel, '--config', file], options);
    const etags = printed
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    return etags.toSorted(([a], [b]) => a - b);
  }

  async #post(request, body) {
    const answer = await fetch(await this.sign(request), { method: 'POST', body });
    const text = await answer.text();
    if (!answer.ok || text.includes('<Error>')) throw new Error(`${request.action}: ${answer.status} ${text}`);
    return text;
  }

  /** Resolves to an address for a request. */
  sign(request) {
    return this.#presigner.sign(this.url, request);
  }

  async stop() {
    await this.proxy.stop();
    await this.server.stop();
  }
}

/** Prints all times; then, for each of `pairs`, the time of the upload against the slower of converting and sending. */
function printBoth(times, pairs) {
  printRatios(times, pairs[0].alone[0]);
  const rows = pairs.flatMap(({ both, alone }) => {
    const slower = alone.toSorted((a, b) => median(times[b]) - median(times[a]))[0];
    return both.map((name) => [name, slower, `${(median(times[name]) / median(times[slower])).toFixed(2)} ×`]);
  });
  table(['', 'the slower of the two alone', 'time against that'], rows);
}

async function localToS3(path, format, s3, browser) {
  const file = at(`output.${format}`);
  const convert = ({ command }, output, ...more) =>
    timed(process.execPath, command, 'convert', '-O', format, ...more, path, output).real;
  const toS3 = perBuild('to S3', (build) => convert(build, s3.url, '--upload', 's3'));
  const toFile = perBuild('to a file', (build) => convert(build, OUT));
  const [one] = Object.values(perBuild('', (build) => convert(build, file)));
  one();
  print(`\n## A local qcow2 to S3 as ${format}, ${(statSync(file).size / 1e6).toFixed(0)} MB`);
  const sign = (request) => s3.sign(request);
  const longTasks = Object.fromEntries(builds.map(({ name }) => [name, []]));
  const inPage = (target) => async (build) => {
    const ended = await browser.convertUndriven(build, path, { target, format, sign });
    if (target === 's3') longTasks[build.name].push(ended.longTasks);
    return ended.seconds;
  };
  const pageToS3 = perBuild('Chromium to S3', inPage('s3'));
  const pageToFile = perBuild('Chromium to OPFS', inPage('storage'));
  const name = 'curl, the file alone';
  const curl = { [name]: () => s3.curl(file) };
  const times = await alternate({ ...toFile, ...pageToFile, ...curl, ...toS3, ...pageToS3 });
  printBoth(times, [
    { both: Object.keys(toS3), alone: [Object.keys(toFile)[0], name] },
    { both: Object.keys(pageToS3), alone: [Object.keys(pageToFile)[0], name] },
  ]);
  printLongTasks(longTasks);
  rmSync(file);
}

/** Prints how long the uploads of each build blocked the page's thread: `runs` have the milliseconds of long tasks. */
function printLongTasks(runs) {
  const sum = (durations) => durations.reduce((total, each) => total + each, 0);
  const rows = Object.entries(runs).map(([name, durations]) => [
    `${name}, Chromium to S3`,
    durations.map(({ length }) => length).join(', '),
    Math.max(0, ...durations.flat()),
    durations.map(sum).join(', '),
  ]);
  table(['the page, in each run', 'tasks over 50 ms', 'the longest, ms', 'blocked by them, ms'], rows);
}

async function addressToS3(path, s3) {
  const server = await ImageServer.start();
  try {
    const url = `${server.origin}/${path.split('/').at(-1)}`;
    const convert = ({ command }, input, output, ...more) =>
      timed(process.execPath, command, 'convert', ...more, input, output).real;
    print('\n## From a server to S3 as raw, with nothing on the disk');
    const both = perBuild('from a server to S3', (build) => convert(build, url, s3.url, '--upload', 's3'));
    const there = perBuild('from a server to a file', (build) => convert(build, url, OUT));
    const on = perBuild('from a file to S3', (build) => convert(build, path, s3.url, '--upload', 's3'));
    const times = await alternate({ ...there, ...on, ...both });
    printBoth(times, [{ both: Object.keys(both), alone: [Object.keys(there)[0], Object.keys(on)[0]] }]);
  } finally {
    await server.stop();
  }
}

/** Azurite over a network: the address of a blob, and `stop`, which resolves to the number of bytes sent. */
async function startAzure() {
  const folder = at('azure');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const server = await azureServer(folder);
  const proxy = await startProxy(new URL(server.url).port);
  const stop = async () => {
    const sent = await proxy.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
    return sent;
  };
  return { url: server.url.replace(/:\d+/, `:${proxy.port}`), stop };
}

/** Bytes sent to a page blob: all but its holes. */
async function toPageBlob() {
  const { url, stop } = await startAzure();
  const path = large();
  print('\n## A local qcow2 of 100 GiB to a page blob, as VHD');
  const { real } = timed(process.execPath, builds[0].command, 'convert', '-O', 'vpc', '--upload', 'azure', path, url);
  const [sent, data] = [await stop(), allocated(path).reduce((sum, { start, end }) => sum + end - start, 0)];
  const row = [real.toFixed(2), sent, data, `${(sent / data).toFixed(3)} ×`];
  table(['s', 'bytes sent, with all that HTTP adds', 'bytes of data', 'against those'], [row]);
}

/** An upload in Node, to a server that needs no compilation. */
export async function quickUpload() {
  const [path, file] = [half(), at('output.raw')];
  const { url, stop } = await startAzure();
  const convert = ({ command }, output, ...more) =>
    timed(process.execPath, command, 'convert', '-O', 'raw', ...more, path, output).real;
  convert(builds[0], file);
  print(`\n## A local qcow2 to a block blob as raw, ${(statSync(file).size / 1e6).toFixed(0)} MB`);
  const toBlob = perBuild('to Azure', (build) => convert(build, url, '--upload', 'azure'));
  const toFile = perBuild('to a file', (build) => convert(build, OUT));
  const name = 'curl, the file alone';
  const curl = () => timed('curl', '-sSf', '-H', 'x-ms-blob-type: BlockBlob', '-T', file, url).real;
  const times = await alternate({ ...toFile, [name]: curl, ...toBlob });
  printBoth(times, [{ both: Object.keys(toBlob), alone: [Object.keys(toFile)[0], name] }]);
  rmSync(file);
  await stop();
}

export async function uploads(browser) {
  process.env.AWS_ACCESS_KEY_ID = KEYS.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = KEYS.secretAccessKey;
  const s3 = await S3.start();
  try {
    const path = part();
    await localToS3(path, 'raw', s3, browser);
    await localToS3(path, 'raw.gz', s3, browser);
    await addressToS3(path, s3);
  } finally {
    await s3.stop();
  }
  await toPageBlob();
}
