// Converts an image: `convert.mjs IMAGE OUTPUT PASSWORD`. An error is shown as a person would see it.
import { DecantError, open } from 'decant';

const [source, output, password] = process.argv.slice(2);
try {
  const image = await open(source, { password });
  try {
    await image.convert(output);
  } finally {
    await image.close();
  }
} catch (thrown) {
  if (!(thrown instanceof DecantError)) throw thrown;
  console.error(`${thrown.kind}: ${thrown.message}`);
  process.exitCode = 1;
}
