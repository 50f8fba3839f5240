// Sentences of others, within and after ours.

/** The characters around a part in English: Unicode's isolates, which names do not have, since they are escaped. */
const ISOLATED = /\u2066([^\u2069]*)\u2069/;

/** Marks `text` as English within a text of another language. */
export const inEnglish = (text: string): string => `\u2066${text}\u2069`;

/** The parts of a text. Every second one is English, within a text of another language. */
export const partsOf = (text: string): string[] => text.split(ISOLATED);

/** `message` with a full stop. */
export const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

/** `reason` without a full stop, to follow a colon. */
export const clause = (reason: string): string => reason.replace(/\.$/, '');
