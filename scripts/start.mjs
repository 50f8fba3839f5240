// `npm start`: builds everything and serves the page.

import { spawn } from 'node:child_process';
import { build } from './build.mjs';
import { bin, fail, root } from './lib.mjs';

await build();
const server = spawn(bin('vite'), ['preview', 'web', ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
server.on('error', (error) => fail(`The server could not be started (${error.code}).`, 'Run npm start again.'));
server.on('exit', (code) => process.exit(code ?? 0));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
