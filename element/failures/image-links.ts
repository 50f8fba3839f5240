// Remembers the links of images whose downloads may be interrupted, so that resuming one opens its link again.

import { remember, remembered } from '../ways/remembered.js';

/** How long a link is remembered, in milliseconds: the package keeps an interrupted download for a week. */
const REMEMBERED = 7 * 86_400_000;

/** The name of an image, its link or an empty text, and when its conversion began. */
type Entry = [image: string, link: string, at: number];

function entries(): Entry[] {
  try {
    const stored: Entry[] = JSON.parse(remembered('links') ?? '[]');
    return stored.filter(([, , at]) => Date.now() - at < REMEMBERED);
  } catch {
    return [];
  }
}

const others = (image: string): Entry[] => entries().filter(([name]) => name !== image);

const store = (links: Entry[]): void => remember('links', JSON.stringify(links));

/** Whether anybody may see `url`: a query or a fragment may contain a key. */
const isPublic = ({ username, password, search, hash }: URL): boolean =>
  `${username}${password}${search}${hash}` === '';

/** Remembers that `image` came from `url`. A link that may contain a secret is not stored, only that there was one. */
export const rememberLink = (image: string, url: URL): void =>
  store([...others(image), [image, isPublic(url) ? url.href : '', Date.now()]]);

export function forgetLink(image: string): void {
  if (linkOf(image) !== undefined) store(others(image));
}

/** The link of `image`; empty if it is not stored, `undefined` if none is known. */
export const linkOf = (image: string): string | undefined => entries().find(([name]) => name === image)?.[1];
