import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';

const bundles = new Map<string, Promise<string>>();

/** A module of the page or the element, by its path, as one script. Made once in each process. */
export function bundle(path: string): Promise<string> {
  const made = bundles.get(path) ?? make(path);
  bundles.set(path, made);
  return made;
}

async function make(path: string): Promise<string> {
  const input = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const options = { input, preserveEntrySignatures: 'strict' as const };
  const made = await build({
    configFile: false,
    logLevel: 'warn',
    build: { write: false, target: 'esnext', rolldownOptions: options },
  });
  return (made as Rolldown.RolldownOutput).output[0].code;
}
