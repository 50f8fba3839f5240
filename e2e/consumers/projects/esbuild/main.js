import { configure } from 'decant';
import extrasWasm from 'decant/extras.wasm';
import plainWasm from 'decant/plain.wasm';
import extrasWorker from 'decant/worker.extras.js';
import plainWorker from 'decant/worker.plain.js';
import './app.js';

const workers = { plain: plainWorker, extras: extrasWorker };
const wasm = { plain: plainWasm, extras: extrasWasm };
configure({
  worker: (kind) => new Worker(workers[kind], { type: 'module' }),
  wasm: (kind) => new URL(wasm[kind], location.href),
});
