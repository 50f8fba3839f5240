// The displayed part of a progress.

export const brief = ({ phase, fraction, bytesPerSecond, secondsLeft }) => ({
  phase,
  share: fraction,
  bytesPerSecond,
  secondsLeft,
});
