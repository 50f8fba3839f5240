// A server over a simulated network: nginx with the benchmark's images.

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startNginx } from '../e2e/support/nginx.mjs';
import { at } from './images.mjs';

const PROXY = fileURLToPath(new URL('proxy.mjs', import.meta.url));

/** A network to `port` of this machine: its near port, and `stop`, which resolves to the number of bytes sent. */
export async function startProxy(port) {
  const proxy = spawn(process.execPath, [PROXY, port], { stdio: ['pipe', 'pipe', 'inherit'] });
  const near = await new Promise((resolve) => proxy.stdout.once('data', (data) => resolve(String(data).trim())));
  const stop = () => {
    const sent = new Promise((resolve) => proxy.stdout.once('data', (data) => resolve(Number(data))));
    proxy.stdin.end();
    return sent;
  };
  return { port: near, stop };
}

export class ImageServer {
  static async start() {
    const self = new ImageServer();
    rmSync(at('nginx'), { recursive: true, force: true });
    self.nginx = await startNginx(at('nginx'), at(''));
    self.proxy = await startProxy(self.nginx.port);
    self.origin = `http://127.0.0.1:${self.proxy.port}`;
    return self;
  }

  /** Counts the requests that `work` makes, and the bytes that it receives. */
  async counting(work) {
    const before = this.nginx.served().length;
    await work();
    // A request is logged when it has ended.
    await new Promise((done) => setTimeout(done, 200));
    const served = this.nginx.served().slice(before);
    return { requests: served.length, bytes: served.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  async stop() {
    await this.proxy.stop();
    await this.nginx.stop();
  }
}
