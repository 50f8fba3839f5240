// Servers as clouds have them, from package registries: see tools/servers and `uploadServers` in scripts/setup.mjs.

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { freePort } from './nginx.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = join(root, 'target', 'servers', 'bin');
const modules = join(root, 'tools', 'servers', 'node_modules');

export const KEYS = { accessKeyId: 'public', secretAccessKey: 'secret' };

/**
 * A server, where an object is uploaded to, and the object's bytes, if it is there.
 * @typedef {{ url: string; object(): Promise<Buffer | undefined>; stop(): Promise<void> }} RealServer
 */

/** @param {import('node:http').Server} server */
const listen = (server) =>
  /** @type {Promise<number>} */ (
    new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => {
        const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
        resolve(port);
      }),
    )
  );

/**
 * Starts a program and waits until `origin` answers anything.
 * @param {string} origin
 * @param {string} program
 * @param {string[]} args
 */
async function started(origin, program, args) {
  const child = spawn(program, args, { stdio: 'ignore' });
  // Two minutes: longer than any of them takes to start on a busy machine.
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    if (await fetch(origin).catch(() => undefined)) return child;
    if (child.exitCode !== null) break;
    await new Promise((done) => setTimeout(done, 100));
  }
  child.kill();
  throw new Error(`${program} does not answer`);
}

/** @param {import('node:child_process').ChildProcess} child */
async function ended(child) {
  const closed = new Promise((done) => child.on('close', done));
  child.kill();
  await closed;
}

/** @param {string} path */
const fileAt = (path) => (existsSync(path) ? readFileSync(path) : undefined);

/**
 * s3s-fs, whose buckets are folders.
 * @param {string} folder
 * @returns {Promise<RealServer>}
 */
export async function s3Server(folder) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  mkdirSync(join(folder, 'disks'));
  const keys = ['--access-key', KEYS.accessKeyId, '--secret-key', KEYS.secretAccessKey];
  const child = await started(origin, join(programs, 's3s-fs'), [
    ...['--host', '127.0.0.1', '--port', String(port)],
    ...keys,
    folder,
  ]);
  return {
    url: `${origin}/disks/disk.raw`,
    object: async () => fileAt(join(folder, 'disks', 'disk.raw')),
    stop: () => ended(child),
  };
}

/** Azurite's account, which is everybody's. */
const ACCOUNT = 'devstoreaccount1';
const ACCOUNT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** A signature for all of the account: "Create an account SAS", version 2019-12-12. */
function accountSignature() {
  const [permissions, services, types, expiry, version] = ['rwdlac', 'b', 'sco', '2099-01-01T00:00:00Z', '2019-12-12'];
  const signed = [ACCOUNT, permissions, services, types, '', expiry, '', '', version, ''].join('\n');
  const sig = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64')).update(signed).digest('base64');
  return String(new URLSearchParams({ sv: version, ss: services, srt: types, sp: permissions, se: expiry, sig }));
}

/**
 * Azurite.
 * @param {string} folder
 * @returns {Promise<RealServer>}
 */
export async function azureServer(folder) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const script = join(modules, 'azurite', 'dist', 'src', 'blob', 'main.js');
  const child = await started(origin, process.execPath, [
    ...[script, '--blobHost', '127.0.0.1', '--blobPort', String(port), '--location', folder],
    ...['--silent', '--skipApiVersionCheck', '--disableTelemetry'],
  ]);
  const signature = accountSignature();
  /** @param {string} path */
  const url = (path, query = '') => `${origin}/${ACCOUNT}/${path}?${query}${signature}`;
  const made = await fetch(url('disks', 'restype=container&'), { method: 'PUT', headers: { 'Content-Length': '0' } });
  if (!made.ok) throw new Error(`Azurite: ${made.status} ${await made.text()}`);
  return {
    url: url('disks/disk.vhd'),
    object: async () => {
      const answer = await fetch(url('disks/disk.vhd'));
      return answer.ok ? Buffer.from(await answer.arrayBuffer()) : undefined;
    },
    stop: () => ended(child),
  };
}

/**
 * The server of tus, over a folder.
 * @param {string} folder
 * @returns {Promise<RealServer>}
 */
export async function tusServer(folder) {
  /** @param {string} name */
  const from = (name) => import(pathToFileURL(join(modules, '@tus', name, 'dist', 'index.js')).href);
  const [{ Server }, { FileStore }] = await Promise.all([from('server'), from('file-store')]);
  const tus = new Server({ path: '/files', datastore: new FileStore({ directory: folder }) });
  const server = createServer((request, response) => tus.handle(request, response));
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/files`,
    object: async () => {
      const name = readdirSync(folder).find((name) => !name.endsWith('.json'));
      return name === undefined ? undefined : readFileSync(join(folder, name));
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const GCS = join(programs, 'fake-gcs-server');
/** Whether there was a Go that could build it. */
export const hasGcs = existsSync(GCS);

/**
 * fake-gcs-server.
 * @param {string} folder
 * @returns {Promise<RealServer>}
 */
export async function gcsServer(folder) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  mkdirSync(join(folder, 'disks'));
  const child = await started(origin, GCS, [
    ...['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port)],
    ...['-public-host', `127.0.0.1:${port}`, '-external-url', origin, '-filesystem-root', folder],
  ]);
  return {
    url: `${origin}/upload/storage/v1/b/disks/o?uploadType=resumable&name=disk.raw`,
    object: async () => fileAt(join(folder, 'disks', 'disk.raw')),
    stop: () => ended(child),
  };
}
