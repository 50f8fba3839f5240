import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isSameFile } from './upload-output.js';

const { signal } = new AbortController();
const noHeaders = async () => [];

let server: Server;
let origin: string;

beforeEach(async () => {
  server = createServer(({ url = '' }, response) => {
    const [, target] = /^\/to(\/.*)$/.exec(url) ?? [];
    if (target === undefined) response.writeHead(206, { 'Content-Range': 'bytes 0-0/5' }).end('a');
    else response.writeHead(302, { Location: target }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test.for([
  ['/a.qcow2', '/a.qcow2', true],
  ['/a.qcow2?X-Amz-Signature=1', '/a.qcow2', true],
  ['/%61.qcow2', '/a.qcow2', true],
  ['/b/../a.qcow2', '//a.qcow2', true],
  ['/to/a.qcow2', '/a.qcow2', true],
  ['/to/to/%61.qcow2', '/a.qcow2', true],
  ['/to/a.qcow2', '/to/a.qcow2', true],
  ['/a.qcow2', '/b.qcow2', false],
  ['/to/a.qcow2', '/b.qcow2', false],
  ['/a%2Fb', '/a/b', false],
  ['/a?id=1', '/a?id=2', false],
] as const)('an output of the image %s at %s is the image: %s', async ([image, output, isSame]) => {
  expect(await isSameFile(origin + output, origin + image, noHeaders, signal)).toBe(isSame);
});

test('a server that does not answer, or another server', async () => {
  const gone = 'http://127.0.0.1:1';
  expect(await isSameFile(`${origin}/a`, `${gone}/a`, noHeaders, signal)).toBe(false);
  expect(await isSameFile(`${gone}/a`, `${origin}/a`, noHeaders, signal)).toBe(false);
});
