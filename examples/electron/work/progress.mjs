// Progress as far as it is shown.

/** How much is done: of the keys, of the disk, or of the file where nobody knows how large the disk is. */
function shareOf({ phase, unlocked, guestDone, guestTotal, bytesRead }, fileSize) {
  if (phase === 'unlocking') return unlocked;
  const [done, total] = guestTotal === undefined ? [bytesRead, fileSize] : [guestDone, guestTotal];
  if (total === undefined) return undefined;
  return total > 0 ? Math.min(1, done / total) : 1;
}

export function brief(progress, fileSize) {
  const { phase, bytesPerSecond, secondsLeft } = progress;
  return { phase, share: shareOf(progress, fileSize), bytesPerSecond, secondsLeft };
}
