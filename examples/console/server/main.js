// `npm start`: serves the built page, and keeps disks in data/. PORT and DATA change where.

import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Imports } from './imports.js';
import { handler } from './routes.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { PORT = '8080', DATA = join(root, 'data') } = process.env;

const imports = await Imports.in(DATA);
const handle = handler(join(root, 'dist'), imports);
const server = createServer((request, response) => void handle(request, response));
server.listen(Number(PORT), 'localhost', () => console.log(`http://localhost:${server.address().port}/`));
