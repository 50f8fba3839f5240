// A CommonJS module that imports the package, as node16 and node18 require.
import type { ConvertResult } from 'decant' with { 'resolution-mode': 'import' };

async function main([source, output]: string[]): Promise<ConvertResult> {
  const { open } = await import('decant');
  const image = await open(source!);
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
