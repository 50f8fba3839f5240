// The server of the benchmark's page. It is isolated, so that both engines can run there.

import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { at } from './images.mjs';

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
/** The folder of the built page. */
export const PAGE = at('page');

export class PageServer {
  /** Resolves to an address for a request to S3. */
  sign;
  /** Called with the page's report: the result of a task, or its failure. */
  onReport;

  static async start() {
    const self = new PageServer();
    self.server = createServer((request, response) => self.#answer(request, response));
    await new Promise((resolve) => self.server.listen(0, '127.0.0.1', resolve));
    return self;
  }

  get url() {
    return `http://localhost:${this.server.address().port}/`;
  }

  #answer(request, response) {
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const { pathname: path, searchParams } = new URL(request.url, this.url);
    const query = Object.fromEntries(searchParams);
    if (path === '/sign') this.#signed(JSON.parse(query.request), response);
    else if (path === '/image') createReadStream(query.path).pipe(response);
    else if (path === '/tell') this.#tell(JSON.parse(query.took), response);
    else this.#file(path === '/' ? 'index.html' : path, response);
  }

  #signed(request, response) {
    this.sign(request).then(
      (url) => response.end(url),
      (thrown) => response.writeHead(500).end(thrown.message),
    );
  }

  #tell(took, response) {
    this.onReport(took);
    response.end();
  }

  #file(path, response) {
    response.setHeader('Content-Type', TYPES[extname(path)] ?? 'text/html');
    createReadStream(join(PAGE, path))
      .on('error', () => response.writeHead(404).end())
      .pipe(response);
  }

  stop() {
    this.server.close();
  }
}
