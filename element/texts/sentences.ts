// Joins messages of the package and of the page to the element's texts.

/** A part in English, between Unicode isolates. Names cannot contain isolates, since names are escaped. */
const ISOLATED = /\u2066([^\u2069]*)\u2069/;

/** Marks `text` as English inside a text in another language. */
export const inEnglish = (text: string): string => `\u2066${text}\u2069`;

/** Splits a text into parts. Every second part is marked as English. */
export const partsOf = (text: string): string[] => text.split(ISOLATED);

/** Adds a full stop to `message`, unless it ends with a mark. */
export const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

/** Removes the full stop of `reason`, which follows a colon. */
export const clause = (reason: string): string => reason.replace(/\.$/, '');
