// How texts are worded: sizes and times in a language, parts of a value, and sentences made of messages of the package and of the page.

/** The least room in the private storage that is stated as a number, in bytes. */
export const LEAST_ROOM = 1e6;

/** The browser's check of a file in a folder, in bytes per second: the fastest and the slowest that was seen in Chromium. */
const CHECKED = [3.3e8, 0.75e8] as const;

/** Units of time, in seconds. */
const CHECK_UNITS = [
  [365 * 86_400, 'years'],
  [86_400, 'days'],
  [3600, 'hours'],
  [60, 'minutes'],
] as const;

/** The time in which the browser checks a file of `bytes`. Up to a minute is from 1 to 1 minutes. */
export function checkTime(bytes: number): { from: number; to: number; unit: (typeof CHECK_UNITS)[number][1] } {
  const [least, most] = [bytes / CHECKED[0], bytes / CHECKED[1]];
  const [seconds, unit] = CHECK_UNITS.find(([seconds]) => most >= 2 * seconds) ?? CHECK_UNITS[3];
  return { from: Math.max(1, Math.floor(least / seconds)), to: Math.ceil(most / seconds), unit };
}

/** The names of units in a language. */
interface UnitNames {
  /** The language as a BCP 47 tag. */
  language: string;
  bytes: string;
  days: string;
}

/** In minutes. */
const DAY = 24 * 60;

/** Returns the functions that format sizes and times in a language. */
export function unitsOf({ language, bytes: bytesName, days }: UnitNames) {
  const formatOf = (digits: number) =>
    new Intl.NumberFormat(language, { maximumSignificantDigits: digits, useGrouping: false });
  // Made once, before there is a size to show: the first one takes milliseconds.
  const [two, three] = [formatOf(2), formatOf(3)];

  // A number and its unit stay in one line.
  /** Formats bytes in decimal units, as file managers do: "3.5 GB". */
  function size(bytes: number): string {
    const units = [bytesName, 'KB', 'MB', 'GB', 'TB', 'PB'];
    let [value, unit] = [bytes, 0];
    while (value >= 999.5 && unit < units.length - 1) {
      value /= 1000;
      unit += 1;
    }
    return `${(value < 10 ? two : three).format(value)}\u00a0${units[unit]}`;
  }

  /** Formats a number of bytes in GB, without the unit, and rounds it up: a disk of that size is not smaller. */
  const gigabytes = (bytes: number): string =>
    new Intl.NumberFormat(language, {
      maximumSignificantDigits: bytes < 10e9 ? 2 : 3,
      roundingMode: 'ceil',
      useGrouping: false,
    }).format(bytes / 1e9);

  /** Formats a number of bytes exactly: "65,536 bytes". For sizes that others must be a multiple of. */
  const exactSize = (bytes: number): string => `${new Intl.NumberFormat(language).format(bytes)}\u00a0${bytesName}`;

  /** Formats a rounded time: "4 s", "1 min 20 s", "2 h 5 min", "3 days". */
  function duration(seconds: number): string {
    const whole = Math.max(1, Math.round(seconds));
    if (whole < 60) return `${whole}\u00a0s`;
    const minutes = Math.floor(whole / 60);
    if (minutes >= 2 * DAY) return `${Math.round(minutes / DAY)}\u00a0${days}`;
    if (minutes >= 60) return `${Math.floor(minutes / 60)}\u00a0h ${minutes % 60}\u00a0min`;
    const rest = minutes < 10 ? Math.round((whole % 60) / 5) * 5 : 0;
    return rest > 0 && rest < 60
      ? `${minutes}\u00a0min ${rest}\u00a0s`
      : `${rest === 60 ? minutes + 1 : minutes}\u00a0min`;
  }

  return { size, exactSize, gigabytes, duration };
}

export type Units = ReturnType<typeof unitsOf>;

/** Joins the parts that are not empty with commas. */
export const commaSeparated = (...parts: unknown[]): string => parts.filter(Boolean).join(', ');

/** A part in English, between Unicode isolates. Names cannot contain isolates, since names are escaped. */
const ISOLATED = /\u2066([^\u2069]*)\u2069/;

/** Marks `text` as English inside a text in another language. */
export const inEnglish = (text: string): string => `\u2066${text}\u2069`;

/** Splits a text into parts. Every second part is marked as English. */
export const partsOf = (text: string): string[] => text.split(ISOLATED);

/** The name of a firmware, in all languages. */
export const firmwareName = (firmware: 'bios' | 'efi'): string => (firmware === 'efi' ? 'UEFI' : 'BIOS');

/** Adds a full stop to `message`, unless it ends with a mark. */
export const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

/** Removes the full stop of `reason`, which follows a colon. */
export const clause = (reason: string): string => reason.replace(/\.$/, '');
