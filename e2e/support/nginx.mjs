// nginx, over HTTP/1.1 and, with a certificate of its own, over HTTP/2.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/**
 * A port that nobody has.
 * @returns {Promise<number>}
 */
export const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });

/**
 * @param {string} folder
 * @param {string} root
 * @param {{ http: number; https: number }} ports
 */
const config = (folder, root, { http, https }) => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid ${folder}/pid;
worker_processes 1;
events {}
http {
  log_format sent '$server_protocol $status $body_bytes_sent';
  access_log ${folder}/requests sent;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  sendfile on;
  add_header Access-Control-Allow-Origin *;
  add_header Access-Control-Expose-Headers 'Content-Range, ETag';
  server {
    listen 127.0.0.1:${http};
    root ${root};
  }
  server {
    listen 127.0.0.1:${https} ssl http2;
    ssl_certificate ${folder}/certificate;
    ssl_certificate_key ${folder}/key;
    root ${root};
  }
}
`;

/** @param {string} folder */
function makeCertificate(folder) {
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', join(folder, 'key'), '-out', join(folder, 'certificate')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' });
}

/** @typedef {{ protocol: string; status: number; bytes: number }} Served */

/**
 * Serves the files of `root`; `folder` is for what nginx needs. `served` is what it has answered so far: it notes an answer
 * when it has ended.
 * @param {string} folder
 * @param {string} root
 */
export async function startNginx(folder, root) {
  mkdirSync(folder, { recursive: true });
  makeCertificate(folder);
  const ports = { http: await freePort(), https: await freePort() };
  writeFileSync(join(folder, 'nginx.conf'), config(folder, root, ports));
  const files = ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'errors')];
  const nginx = spawn('nginx', ['-p', folder, ...files], { stdio: 'ignore' });
  const http = `http://127.0.0.1:${ports.http}`;
  for (let attempt = 0; ; attempt += 1) {
    if (await fetch(http, { method: 'HEAD' }).catch(() => undefined)) break;
    if (attempt > 1000) throw new Error(`nginx does not answer: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
    await new Promise((done) => setTimeout(done, 50));
  }
  return {
    http,
    https: `https://127.0.0.1:${ports.https}`,
    port: ports.http,
    /** @returns {Served[]} */
    served() {
      const lines = readFileSync(join(folder, 'requests'), 'utf8').split('\n').slice(0, -1);
      return lines.map((line) => {
        const [protocol, status, bytes] = line.split(' ');
        return { protocol: protocol ?? '', status: Number(status), bytes: Number(bytes) };
      });
    },
    async stop() {
      const closed = new Promise((done) => nginx.on('close', done));
      nginx.kill();
      await closed;
    },
  };
}
