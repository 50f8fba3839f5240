// A folder with files and links of many kinds, and what a folder holds.

import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A name in a folder, given by its bytes. */
export const inside = (folder: string, name: string) =>
  Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);

/** Everything below a folder, by the bytes of its names: what a file holds, or that it was written. */
export function tree(folder: string, within = ''): string[] {
  return readdirSync(inside(folder, within), 'buffer')
    .flatMap((entry) => {
      const name = `${within}${entry.toString('latin1')}`;
      const path = inside(folder, name);
      const kind = lstatSync(path);
      if (kind.isDirectory()) return [`${name}/`, ...tree(folder, `${name}/`)];
      if (kind.isSymbolicLink()) return [`${name} -> ${readlinkSync(path, 'latin1')}`];
      return [`${name}: ${kind.size < 100 ? readFileSync(path, 'latin1') : 'written'}`];
    })
    .toSorted();
}

/** Makes files, folders and links of many kinds in `folder`, and returns it. */
export function makeLinks(folder: string): string {
  for (const name of ['far/away/deep', 'folder']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'file'), 'old');
  writeFileSync(join(folder, 'out.raw'), 'not this one');
  writeFileSync(join(folder, 'far', 'file'), 'old and far');
  for (const [link, to] of [
    ['link', 'far/away'],
    ['to-file', 'file'],
    ['to-link', 'to-file'],
    ['to-nothing', 'folder/new'],
    ['to-slash', 'file/'],
    ['to-missing-slash', 'missing/'],
    ['to-parent', 'link/../file'],
    ['to-absolute', '/proc/self/cwd/far/new'],
    ['folder/up', '../file'],
    ['far/away/aside', '../file'],
    ['far/away/deep/aside', 'up-there'],
    ['circle', 'circle'],
    ['to-itself', '/proc/self/cwd/file'],
  ] as const) {
    symlinkSync(to, join(folder, link));
  }
  return folder;
}
