// Error messages of the command: the package's sentence, and an option that helps.

import type { PlainError } from '../errors/errors.js';

export const WITH = '--with FILE';
export const PASSWORD_FILE = '--password-file FILE';

/** By code, the option that helps. */
const OPTIONS: Record<string, string> = {
  'missing-file': WITH,
  'password-needed': PASSWORD_FILE,
  'password-unconfirmed': '--assume-password',
};

function helpFor({ code, fields }: PlainError): string | undefined {
  if (fields.kept) return '--resume';
  if (code === 'state-format') return `-f ${fields.format}`;
  return OPTIONS[code];
}

export function failureText(error: PlainError): string {
  const { kind, fields, message } = error;
  const interrupted = ['interrupted', fields.left].filter(Boolean).join('; ');
  const text = kind === 'cancelled' ? interrupted : message;
  const option = helpFor(error);
  return option ? `${text} (${option})` : text;
}
