// Sentences of others, within and after ours.

/** `message` with a full stop. */
export const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

/** `reason` without a full stop, to follow a colon. */
export const clause = (reason: string): string => reason.replace(/\.$/, '');
