// Formats numbers, times and advice.

/** Formats a size in decimal units, like file managers: "3.5 GB". */
export function size(bytes) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

/** Formats a time: "4 s", "5 min", "2 h 5 min". */
export function duration(seconds) {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const PHASES = {
  unlocking: 'Unlocking',
  preparing: 'Preparing',
  measuring: 'Measuring',
  converting: 'Converting',
  sending: 'Sending',
  finalizing: 'Finishing',
};

/** Formats progress: "Converting: 42%, 310 MB/s, 12 s left". */
export function progress({ phase, share, bytesPerSecond, secondsLeft }) {
  const parts = [];
  if (share !== undefined) parts.push(`${Math.floor(share * 100)}%`);
  if (bytesPerSecond > 0) parts.push(`${size(bytesPerSecond)}/s`);
  if (secondsLeft !== undefined) parts.push(`${duration(secondsLeft)} left`);
  return [PHASES[phase], parts.join(', ')].filter((part) => part !== '').join(': ');
}

/** Advice by error kind; missing if the message suffices. */
const ADVICE = {
  'not-recognised': 'Choose another file.',
  unsupported: 'Another tool may read this image.',
  corrupt: 'Get a new copy of the image.',
  'missing-file': 'Add the files that the image needs.',
  password: 'Type the password again.',
  source: 'Open the image again.',
  target: 'Choose another place to save to.',
  internal: 'Try again.',
};

/** Formats an error other than a cancel. */
export const failure = ({ kind, message }) => [`${message}.`, ADVICE[kind]].filter(Boolean).join(' ');
