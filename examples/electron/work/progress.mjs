// Progress as far as it is shown.

export const brief = ({ phase, fraction, bytesPerSecond, secondsLeft }) => ({
  phase,
  share: fraction,
  bytesPerSecond,
  secondsLeft,
});
