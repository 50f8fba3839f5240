// A build of the package whose wasm has little memory, as on a machine where it has run out.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** The section of a module that declares its memory, and the flag that says it has a limit. */
const MEMORY = 5;
const HAS_LIMIT = 1;

/** A number as wasm writes it (LEB128). */
function encoded(value: number): number[] {
  const low = value & 0x7f;
  return value < 0x80 ? [low] : [low | 0x80, ...encoded(value >> 7)];
}

/** The number at `at`, and what stands behind it. */
function decoded(bytes: Uint8Array, at: number): [value: number, end: number] {
  const byte = bytes[at]!;
  if (byte < 0x80) return [byte, at + 1];
  const [high, end] = decoded(bytes, at + 1);
  return [(byte & 0x7f) | (high << 7), end];
}

/** `module` whose memory grows by at most `pages` of 64 KiB. */
export function withMemory(module: Uint8Array, pages: number): Uint8Array<ArrayBuffer> {
  let at = 8;
  while (at < module.length) {
    const [length, content] = decoded(module, at + 1);
    const end = content + length;
    if (module[at] === MEMORY) {
      const [count, flags] = [module[content], module[content + 1]];
      if (count !== 1 || flags !== 0) throw new Error('the module has a memory of another kind');
      const [initial] = decoded(module, content + 2);
      const section = [1, HAS_LIMIT, ...encoded(initial), ...encoded(initial + pages)];
      const changed = [MEMORY, ...encoded(section.length), ...section];
      return Uint8Array.from([...module.subarray(0, at), ...changed, ...module.subarray(end)]);
    }
    at = end;
  }
  throw new Error('the module has no memory');
}

/** Copies the package to `folder`, with such a memory for the wasm that Node uses; answers with its main module. */
export function packageWithMemory(folder: string, pages: number): string {
  cpSync(dist, folder, { recursive: true, filter: (path) => !path.includes('threads') });
  const wasm = join(folder, 'decant.wasm');
  writeFileSync(wasm, withMemory(readFileSync(wasm), pages));
  return join(folder, 'node.js');
}
