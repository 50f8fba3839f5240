// Finds the files that may be disk images among others, for example in a dropped folder.

import { wholeName } from './bundle.js';
import type { InputFile } from './input-file.js';
import { hasImageName } from './names.js';

/** The most files in one drop that may be images. More come from a whole folder that was dropped by mistake. */
export const MOST_FILES = 200;

/** A file of a drop that is not read yet. */
export interface Listed {
  name: string;
  read(): Promise<InputFile>;
}

/** Extensions of other kinds of files, which are not even opened. */
const OTHER_EXTENSIONS =
  /\.(?:aac|ai|apk|avi|avif|bat|bmp|c|cc|cfg|class|conf|cpp|cs|css|csv|deb|dll|docx?|eml|eps|epub|exe|flac|flv|gif|go|h|heic|hpp|html?|ico|ini|ipynb|jar|java|jpe?g|js|json|jsx|kt|lnk|log|lua|m4a|map|md|mjs|mkv|mov|mp3|mp4|mpe?g|msi|nef|o|odp|ods|odt|ogg|opus|otf|pdf|php|pl|png|pptx?|properties|ps1|psd|py|pyc|rb|rpm|rs|rtf|scss|sh|so|sql|sqlite|srt|svg|swift|tex|tiff?|toml|ts|tsv|tsx|ttf|txt|url|vue|wasm|wav|webm|webp|wma|wmv|woff2?|xlsx?|xml|ya?ml)$/i;

/** A disk has at least one sector, and the first sector of a file is looked at. In bytes. */
const SECTOR = 512;
/** How many files are read at once. */
const FILES_AT_ONCE = 100;

/** The first bytes of files that are not disk images. */
const OTHER_STARTS = [
  '\x89PNG',
  '\xff\xd8\xff',
  'GIF8',
  '%PDF',
  '\x7fELF',
  'RIFF',
  'OggS',
  'fLaC',
  'ID3',
  '\xd0\xcf\x11\xe0',
  '\xca\xfe\xba\xbe',
  'SQLite format 3',
  'wOFF',
  '\0asm',
];
/** The beginning of the descriptor of a VMDK, which is text. */
const DESCRIPTOR = '# Disk DescriptorFile';
/** The marks at the beginning of texts in UTF-16. */
const UTF_16 = ['\xff\xfe', '\xfe\xff'];
/** The control characters that texts have. */
const IN_TEXT = '\t\n\f\r\x1b';

/** Reads the files that may be images. The others are empty files with their names. */
export const readLikely = (listed: Listed[]): Promise<InputFile[]> =>
  inTurn(listed, async (one) => (OTHER_EXTENSIONS.test(one.name) ? { file: new File([], one.name) } : one.read()));

/** Divides `files` into those that may be images, or belong to one, and those that cannot. */
export async function passOver(files: InputFile[]): Promise<{ likely: InputFile[]; passed: InputFile[] }> {
  const may = await inTurn(files, mayBeImage);
  return { likely: files.filter((_, at) => may[at]), passed: files.filter((_, at) => !may[at]) };
}

async function mayBeImage({ file, link }: InputFile): Promise<boolean> {
  if (link) return true;
  if (file.size === 0 || OTHER_EXTENSIONS.test(file.name)) return false;
  if (hasImageName(wholeName(file.name))) return true;
  const start = await startOf(file);
  // Opening it reports why it cannot be read.
  if (start === undefined || start.startsWith(DESCRIPTOR)) return true;
  return file.size >= SECTOR && !isText(start) && !OTHER_STARTS.some((other) => start.startsWith(other));
}

/** Whether a file that begins with `start` is a text. */
const isText = (start: string): boolean =>
  UTF_16.some((mark) => start.startsWith(mark)) ||
  [...start].every((character) => character >= ' ' || IN_TEXT.includes(character));

/** The first bytes of `file`, each as a character; `undefined` if it cannot be read. */
async function startOf(file: File): Promise<string | undefined> {
  try {
    return String.fromCharCode(...new Uint8Array(await file.slice(0, SECTOR).arrayBuffer()));
  } catch {
    return undefined;
  }
}

/** Runs `work` on each of `all`, `FILES_AT_ONCE` at a time, since a folder may have very many files. */
async function inTurn<T, R>(all: T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += FILES_AT_ONCE)
    results.push(...(await Promise.all(all.slice(at, at + FILES_AT_ONCE).map(work))));
  return results;
}
