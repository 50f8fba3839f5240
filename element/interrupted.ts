// The download that was interrupted in an earlier visit.

import { KEY } from './remembered.js';
import type { Stage } from './stage.js';
import { allTexts } from './texts/all-texts.js';
import { isOtherTabBusy } from './work-guard.js';

/** How long the finished part of a download is kept, in milliseconds. */
const KEPT = 7 * 86_400_000;

/** The name of the image whose download was interrupted. */
export async function interrupted(): Promise<string | undefined> {
  try {
    const { name, at } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as { name?: unknown; at?: unknown };
    const isKept = typeof name === 'string' && Date.now() - Number(at) < KEPT;
    // It may be under way in another tab.
    return isKept && !(await isOtherTabBusy()) ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Says on the first screen which download was interrupted. */
export async function recall(stage: Stage): Promise<void> {
  const { turn } = stage;
  const name = await interrupted();
  if (name === undefined || stage.state.step !== 'empty' || stage.state.notice !== undefined) return;
  stage.show(turn, { step: 'empty', notice: allTexts(stage).interrupted(name) });
}
