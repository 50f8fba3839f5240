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

/** The upload at `place` could not be removed because of `thrown`; with `perhaps`, it may not exist. */
export function leftBehind(place: string | undefined, thrown: unknown, perhaps = false): DecantError {
  const status = thrown instanceof RequestRefused || thrown instanceof TransientFailure ? thrown.status : undefined;
  const fields = { ...fieldsOf('left-behind', place), ...(status === undefined ? {} : { leftStatus: status }) };
  const stays = `${perhaps ? 'may stay' : 'stays'} ${shownPlace(place)}`;
  return new DecantError('target', `the upload ${stays}: it could not be removed (${reasonOf(thrown)})`, {
    code: 'left-behind',
    fields,
    cause: thrown,
  });
}

/** The object at `place` was completed before the upload ended; perhaps, if there is a `doubt`. */
export function completedAt(place: string | undefined, doubt?: string): DecantError {
  const sentence =
    doubt === undefined
      ? `the object stays ${shownPlace(place)}: the server had completed it`
      : `the object may stay ${shownPlace(place)}: the server may have completed it (${doubt})`;
  return new DecantError('target', sentence, {
    code: 'object-completed',
    fields: fieldsOf('object-completed', place),
  });
}

/** The object may still appear at `place`, because of `reason`. */
export function mayAppearAt(place: string | undefined, reason: string): DecantError {
  const sentence = `the object may still appear ${shownPlace(place)}: the server had received everything, but ${reason}`;
  return new DecantError('target', sentence, {
    code: 'object-completed',
    fields: fieldsOf('object-completed', place),
  });
}

/** The existing object at `place` was overwritten in part; with `perhaps`, the server has not confirmed any of it. */
export function overwrittenAt(place: string | undefined, perhaps: boolean): DecantError {
  const sentence = `the object ${shownPlace(place)} ${perhaps ? 'may have been' : 'was'} overwritten in part`;
  return new DecantError('target', sentence, {
    code: 'object-overwritten',
    fields: fieldsOf('object-overwritten', place),
  });
}

/** The fields of the error of a conversion, which has the code of its reason. */
const fieldsOf = (leftCode: string, place: string | undefined): Fields => ({
  leftCode,
  ...(place === undefined ? {} : { leftAt: place }),
});

const shownPlace = (place: string | undefined): string => (place === undefined ? 'on the server' : `at '${place}'`);
