import { Worker } from 'node:worker_threads';

new Worker(new URL('./convert.mjs', import.meta.url), { argv: process.argv.slice(2) });
