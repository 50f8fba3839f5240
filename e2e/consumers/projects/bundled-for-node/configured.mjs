// Converts an image: `configured IMAGE OUTPUT`. The package's files lie beside the program.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { configure, open } from 'decant';

// What a bundler makes for CommonJS has no `import.meta.url`.
const folder = typeof __dirname === 'string' ? __dirname : dirname(fileURLToPath(import.meta.url));
configure({
  worker: () => new Worker(join(folder, 'worker.node.mjs'), { execArgv: [] }),
  wasm: () => join(folder, 'decant.wasm'),
  codec: (name) => join(folder, `${name}.wasm`),
});

async function main([source, output]) {
  const image = await open(source);
  await image.convert(output);
  await image.close();
}

main(process.argv.slice(2)).catch((thrown) => {
  console.error(`${thrown.kind}: ${thrown.message}`);
  process.exitCode = 1;
});
