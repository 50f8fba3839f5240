// `npm start`: serves the built page. Disks go to the bucket in BUCKET, by requests that this server signs with
// AWS_ACCESS_KEY_ID and related variables; without BUCKET, to data/. PORT and DATA change port and folder.

import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BucketImports } from './bucket.js';
import { Imports } from './imports.js';
import { Presigner } from './presign.js';
import { handler } from './routes.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { PORT = '8080', DATA = join(root, 'data'), BUCKET } = process.env;

function presigner() {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION } = process.env;
  return new Presigner({
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN,
    region: AWS_REGION,
  });
}

const imports = BUCKET ? new BucketImports(presigner(), BUCKET) : await Imports.in(DATA);
const handle = handler(join(root, 'dist'), imports, BUCKET && new URL(BUCKET).origin);
const server = createServer((request, response) => void handle(request, response));
server.listen(Number(PORT), 'localhost', () => console.log(`http://localhost:${server.address().port}/`));
