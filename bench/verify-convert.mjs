// Converts an image with `verify` once its workers are warm, then converts the output to a target that ignores it. Prints the seconds of the
// conversion, of its verification, and of the second conversion.
//
//     node verify-convert.mjs PACKAGE SMALL IMAGE OUTPUT FORMAT

const [decant, small, path, output, format] = process.argv.slice(2);
const { open } = await import(decant);

const ignore = async () => {};
const nowhere = { write: ignore, hole: ignore, close: ignore, abort: ignore };

async function convert(path, target, options, opening) {
  const image = await open(path, opening);
  const { time } = await image.convert(target, options);
  await image.close();
  return time;
}

await convert(small, output, { format, verify: true });
const { converting, verifying, finalizing } = await convert(path, output, { format, verify: true });
const start = performance.now();
await convert(output, nowhere, {}, format === 'raw' ? { inputFormat: format } : {});
const discarding = (performance.now() - start) / 1000;
console.log(JSON.stringify({ converting: converting + finalizing, verifying, discarding }));
process.exit();
