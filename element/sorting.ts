// Which of several files are images to convert, and which belong to one of these.

import { DecantError, open } from 'decant';
import { type Given, sourceOf } from './given.js';

/** An image, and the files that it refers to, directly or through others. */
export interface Bundle {
  top: Given;
  companions: Given[];
  /** What other images may call it: the name of its file, and its IDs. */
  called: string[];
}

export interface Sorted {
  /** Those that refer to files which were not handed over come first, then in the order of their names. */
  bundles: Bundle[];
  /** Files that are no images and that no image refers to. */
  aside: Given[];
}

/** Extensions of raw disks, whose content tells no format. */
const MAY_BE_RAW = /\.(raw|img|dd|bin|iso)$/i;

/** Whether a file that is not recognised may be a raw disk. */
export const mayBeRaw = ({ file, link }: Given): boolean =>
  MAY_BE_RAW.test(file.name) && (file.size > 0 || link !== undefined);

/** A name without regard to the form of its characters and to case, as files are found by their names. */
const folded = (name: string): string => name.normalize('NFC').toLowerCase();

export const isSameName = (one: string, other: string): boolean => folded(one) === folded(other);

/** How an image is tied to others. Each tie is a file name, folded, or the ID of a disk. */
interface Links {
  /** What it refers to. */
  wanted: string[];
  /** What others may call it. */
  called: string[];
}

/** The links of `given`; `undefined` if it is not recognised as an image. */
async function linksOf(given: Given, signal: AbortSignal): Promise<Links | undefined> {
  const { name } = given.file;
  try {
    const image = await open(await sourceOf(given, signal), { signal });
    await image.close();
    const { references, identities } = image.info;
    const wanted = references.flatMap(({ fileName, identity }) => [
      folded(fileName),
      ...(identity ? [identity.id] : []),
    ]);
    return { wanted, called: [folded(name), ...identities.map(({ id }) => id)] };
  } catch (thrown) {
    // A damaged image is an image: opening it tells what is wrong.
    const isOther = thrown instanceof DecantError && thrown.kind === 'not-recognised';
    return isOther ? undefined : { wanted: [], called: [folded(name)] };
  }
}

/**
 * Sorts files that were handed over together. A single file is always taken for an image: opening it tells what is
 * wrong.
 */
export async function sort(files: Given[], signal: AbortSignal): Promise<Sorted> {
  const [first, ...others] = files;
  if (first && others.length === 0) {
    return { bundles: [{ top: first, companions: [], called: [first.file.name] }], aside: [] };
  }
  const links = await allLinks(files, signal);
  const isAnyImage = files.some((given) => links.get(given));
  return sortBy(files, links, (given) => !isAnyImage || mayBeRaw(given));
}

/** As `sort`, but only files that are recognised as images are taken for such. */
export async function sortImages(files: Given[], signal: AbortSignal): Promise<Sorted> {
  return sortBy(files, await allLinks(files, signal), () => false);
}

type AllLinks = Map<Given, Links | undefined>;

async function allLinks(files: Given[], signal: AbortSignal): Promise<AllLinks> {
  const links: AllLinks = new Map();
  for (const given of files) links.set(given, await linksOf(given, signal));
  return links;
}

/** `isMeant` decides on a file that is not recognised and that no other file refers to. */
function sortBy(files: Given[], links: AllLinks, isMeant: (given: Given) => boolean): Sorted {
  const called = (given: Given) => links.get(given)?.called ?? [folded(given.file.name)];
  const referred = new Set<string>();
  for (const given of files) {
    // An image that names itself means a file of the same name elsewhere.
    const own = called(given);
    for (const name of links.get(given)?.wanted ?? []) if (!own.includes(name)) referred.add(name);
  }
  const free = files.filter((given) => !called(given).some((name) => referred.has(name)));
  const images = free.filter((given) => links.get(given));
  const others = free.filter((given) => !links.get(given));
  const meant = others.filter(isMeant);
  const bundle = (top: Given): Bundle => ({ top, companions: reachable(top, files, links), called: called(top) });
  const isThere = (name: string) => files.some((given) => called(given).includes(name));
  const lacksFiles = ({ top, companions }: Bundle) =>
    [top, ...companions].some((given) => links.get(given)?.wanted.some((name) => !isThere(name)));
  const found = [...images, ...meant].map(bundle);
  const reached = new Set(found.flatMap(({ top, companions }) => [top, ...companions]));
  // Images that refer to each other in a circle: opening each tells what is wrong.
  const circular = files.filter((given) => links.get(given) && !reached.has(given)).map(bundle);
  const bundles = [...found, ...circular].sort(
    (a, b) =>
      Number(lacksFiles(b)) - Number(lacksFiles(a)) ||
      a.top.file.name.localeCompare(b.top.file.name, undefined, { numeric: true }),
  );
  return { bundles, aside: others.filter((given) => !meant.includes(given)) };
}

/** Of `files`, those that `top` refers to, directly or by another one. */
function reachable(top: Given, files: Given[], links: AllLinks): Given[] {
  const found = new Set<Given>([top]);
  for (const given of found) {
    const wanted = links.get(given)?.wanted ?? [];
    for (const other of files) {
      const called = links.get(other)?.called ?? [folded(other.file.name)];
      if (called.some((name) => wanted.includes(name))) found.add(other);
    }
  }
  found.delete(top);
  return [...found];
}
