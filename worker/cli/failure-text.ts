// Error messages of the command: the package's sentence, and an option that helps.

import type { Fields, PlainError } from '../errors/errors.js';

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
  if (code === 'ambiguous-format') return ambiguityHelp(fields);
  return OPTIONS[code];
}

/** The formats of the file, unless it is a companion, whose format no option states. */
function ambiguityHelp({ file, format, otherFormat }: Fields): string | undefined {
  if (file !== undefined) return undefined;
  const formats = [format, otherFormat].filter((name) => name !== undefined);
  return formats.map((name) => `-f ${name}`).join(' or ');
}

export function failureText(error: PlainError): string {
  const { kind, fields, message } = error;
  const interrupted = ['interrupted', fields.left].filter(Boolean).join('; ');
  const text = kind === 'cancelled' ? interrupted : message;
  const option = helpFor(error);
  return option ? `${text} (${option})` : text;
}
