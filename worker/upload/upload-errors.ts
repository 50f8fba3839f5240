// Errors of uploads: responses without a required header, and objects that stay on a server or were changed there.

import { DecantError, type Fields, reasonOf } from '../errors/errors.js';
import { RequestRefused, TransientFailure } from '../http/http-failures.js';
import { isNode } from './request-body.js';

/** Explains a response that does not follow the protocol. */
export const OTHER_SENDER = 'another kind of server, or the sign-in page of a network, may have answered';

/** Explains that a response of `status` has no header `name`. */
export function lacksHeader(status: number, name: string): string {
  const lacks = `its response (${status}) has no ${name}`;
  return isNode()
    ? `${lacks}; ${OTHER_SENDER}`
    : `${lacks}, or the browser hides it: the CORS rules must expose ${name}`;
}

/** The upload at `address` could not be removed because of `thrown`; with `perhaps`, it may not exist. */
export function leftBehind(address: string | undefined, thrown: unknown, perhaps = false): DecantError {
  const status = thrown instanceof RequestRefused || thrown instanceof TransientFailure ? thrown.status : undefined;
  const fields = { ...fieldsOf('left-behind', address), ...(status === undefined ? {} : { leftStatus: status }) };
  const stays = `${perhaps ? 'may stay' : 'stays'} ${shownAddress(address)}`;
  return new DecantError('target', `the upload ${stays}: it could not be removed (${reasonOf(thrown)})`, {
    code: 'left-behind',
    fields,
    cause: thrown,
  });
}

/** The object at `address` was completed before the upload ended; perhaps, if there is a `doubt`. */
export function completedAt(address: string | undefined, doubt?: string): DecantError {
  const sentence =
    doubt === undefined
      ? `the object stays ${shownAddress(address)}: the server had completed it`
      : `the object may stay ${shownAddress(address)}: the server may have completed it (${doubt})`;
  return objectError('object-completed', address, sentence);
}

/** The object may still appear at `address`, because of `reason`. */
export function mayAppearAt(address: string | undefined, reason: string): DecantError {
  const sentence = `the object may still appear ${shownAddress(address)}: the server had received everything, but ${reason}`;
  return objectError('object-completed', address, sentence);
}

/** Returns `error`, which is about an uploaded object, with the addition that the upload can still be resumed. */
export const andResumable = ({ code, message, fields }: DecantError): DecantError =>
  new DecantError('target', `${message}; progress was saved; run again with resume to continue`, {
    code,
    fields: { ...fields, resumable: true },
  });

/** The bytes that the server has stored cannot be compared with those that were sent. */
export const NOT_VERIFIABLE =
  'the output cannot be verified: responses of the server do not identify the bytes that it has stored';

/** The existing object at `address` was overwritten in part; with `perhaps`, the server has not confirmed any of it. */
export function overwrittenAt(address: string | undefined, perhaps: boolean): DecantError {
  const sentence = `the object ${shownAddress(address)} ${perhaps ? 'may have been' : 'was'} overwritten in part`;
  return objectError('object-overwritten', address, sentence);
}

/** The error `code` about the object at `address`. */
const objectError = (code: string, address: string | undefined, sentence: string): DecantError =>
  new DecantError('target', sentence, { code, fields: fieldsOf(code, address) });

/** The fields of the error of a conversion, which has the code of its reason. */
const fieldsOf = (leftCode: string, address: string | undefined): Fields => ({
  leftCode,
  ...(address === undefined ? {} : { leftAt: address }),
});

const shownAddress = (address: string | undefined): string =>
  address === undefined ? 'on the server' : `at '${address}'`;

export const objectDiffers = (): DecantError =>
  new DecantError('target', 'the object on the server is not the one that was uploaded', { code: 'object-differs' });
