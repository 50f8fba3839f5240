const { open } = require('decant');

async function main([source, output, password]) {
  const image = await open(source, { password });
  await image.convert(output);
  await image.close();
}

main(process.argv.slice(2)).catch((thrown) => {
  console.error(thrown);
  process.exitCode = 1;
});
