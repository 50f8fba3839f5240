// Converts an image: `convert.mjs IMAGE OUTPUT`. An error is shown as a person would see it.
import { open } from 'decant';

async function main([source, output]) {
  const image = await open(source);
  await image.convert(output);
  await image.close();
}

main(process.argv.slice(2)).catch((thrown) => {
  console.error(`${thrown.kind}: ${thrown.message}`);
  process.exitCode = 1;
});
