// Converts an image by a build of the package, and prints the result as JSON.
//
//     node convert-once.mjs PACKAGE IMAGE OUTPUT SALVAGE

import { pathToFileURL } from 'node:url';

const [main, input, output, salvage] = /** @type {[string, string, string, string]} */ (process.argv.slice(2));
const { open } = await import(pathToFileURL(main).href);
try {
  const image = await open(input, { salvage: salvage === 'true', workers: 2 });
  try {
    const { lostBytes } = await image.convert(output, { memory: 32 << 20 });
    console.log(JSON.stringify({ lostBytes }));
  } finally {
    await image.close();
  }
} catch (thrown) {
  const { kind, message } = /** @type {import('../../dist/node.js').DecantError} */ (thrown);
  console.log(JSON.stringify({ kind, message }));
}
