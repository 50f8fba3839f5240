// The way to save that is clearly the best.

import { BYTES_PER_SECOND, bestChoice, cost } from './choices.js';
import type { AllTexts } from './types.texts.js';
import type { Choice, Way } from './ways.js';

/** In seconds. A person does not notice a smaller difference. */
const SOON = 5;
/** The best way is advised only if its cost is at most this share of the next one's. */
const CLEARLY = 0.7;

/** Returns the way that is clearly better than the others, with the reason; `undefined` if there is none. */
export function advice(choices: Choice[], texts: AllTexts): { way: Way; reason: string } | undefined {
  const best = bestChoice(choices);
  const others = choices.filter((choice) => choice !== best && !choice.obstacle);
  const other = others[0];
  if (!best || !other || best.seconds === undefined || other.seconds === undefined || best.atLeast) return undefined;
  if (cost(best) > cost(other) * CLEARLY || cost(other) - cost(best) < SOON) return undefined;
  const sooner = other.seconds - best.seconds;
  const saved = (other.space ?? 0) - (best.space ?? 0);
  const bySpace = saved / BYTES_PER_SECOND > sooner;
  if (!bySpace && (best.isGuess || other.isGuess)) return undefined;
  return {
    way: best.way,
    reason: bySpace ? texts.betterSpace(best.space ?? 0, other.space ?? 0) : texts.betterTime(sooner),
  };
}
