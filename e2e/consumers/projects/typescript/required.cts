// A CommonJS module that requires the package: `module` must be node20 or nodenext.
import decant = require('decant');

async function main([source, output]: string[]): Promise<decant.ConvertResult> {
  const image = await decant.open(source!);
  try {
    return await image.convert(output!);
  } finally {
    await image.close();
  }
}

main(process.argv.slice(2)).catch((thrown) => {
  console.error(thrown);
  process.exitCode = 1;
});
