// Images that join the queue or leave it for the image that needs them, and the news about it.

import type { Sorted } from '../files/bundle.js';
import type { Given } from '../files/input-file.js';
import { sortImages } from '../files/sorting.js';
import type { Stage } from '../steps/stage.js';
import type { AllTexts } from '../types.texts.js';
import type { Queue } from './queue.js';

/** The news about skipped files, and images that are not opened; empty if there are none. */
export function newsOf({ skipped, held }: Sorted, texts: AllTexts): string {
  const about = (files: Given[], text: (names: string[]) => string) =>
    files.length > 0 ? text(files.map(({ file }) => file.name)) : '';
  return [about(skipped, texts.aside), about(held, texts.held)].filter(Boolean).join(' ');
}

/** Adds images to the end of the queue, and reports it. */
export function enqueue(sorted: Sorted, queue: Queue, stage: Stage): void {
  const { bundles } = sorted;
  queue.add(bundles);
  const added = bundles.length > 0 ? stage.texts.queued.added(bundles.map(({ top }) => top.file.name)) : '';
  stage.tell([added, newsOf(sorted, stage.texts)].filter(Boolean).join(' '));
}

/** Adds those of `files` that are images to the end of the queue. */
export async function enqueueImages(files: Given[], queue: Queue, stage: Stage): Promise<void> {
  enqueue(await sortImages(files, new AbortController().signal), queue, stage);
}

/** Takes files out of the queue that the image needs, and reports it. */
export function claim(names: string[], queue: Queue, stage: Stage): Given[] {
  const claimed = queue.claim(names);
  if (claimed.length > 0) stage.news = stage.texts.queued.claimed(claimed.map(({ file }) => file.name));
  return claimed;
}
