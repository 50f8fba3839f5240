// Adds images to the queue, and takes out files that an image needs, with the news about both.

import type { Sorted } from '../files/bundle.js';
import type { InputFile } from '../files/input-file.js';
import { sortImages } from '../files/sorting.js';
import type { Screen } from '../steps/screen.js';
import type { AllTexts } from '../types.texts.js';
import type { Queue } from './queue.js';

/** The news about skipped files, and images that are not opened; empty if there are none. */
export function newsOf({ skipped, held }: Sorted, texts: AllTexts): string {
  const about = (files: InputFile[], text: (names: string[]) => string) =>
    files.length > 0 ? text(files.map(({ file }) => file.name)) : '';
  return [about(skipped, texts.aside), about(held, texts.held)].filter(Boolean).join(' ');
}

/** Adds images to the end of the queue, and reports it. */
export function enqueue(sorted: Sorted, queue: Queue, screen: Screen): void {
  const { bundles } = sorted;
  queue.add(bundles);
  const added = bundles.length > 0 ? screen.texts.queued.added(bundles.map(({ top }) => top.file.name)) : '';
  screen.tell([added, newsOf(sorted, screen.texts)].filter(Boolean).join(' '));
}

/** Adds the images among `files` to the end of the queue. */
export async function enqueueImages(files: InputFile[], queue: Queue, screen: Screen): Promise<void> {
  enqueue(await sortImages(files, new AbortController().signal), queue, screen);
}

/** Takes files out of the queue that the image needs, and reports it. */
export function claim(names: string[], queue: Queue, screen: Screen): InputFile[] {
  const claimed = queue.claim(names);
  if (claimed.length > 0) screen.news = screen.texts.queued.claimed(claimed.map(({ file }) => file.name));
  return claimed;
}
