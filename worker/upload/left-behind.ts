// What a server keeps of an upload that was given up.

import { DecantError, reasonOf } from '../errors/errors.js';
import { RequestRefused, TransientFailure } from '../http/http-failures.js';

/** The error of an upload that could not be removed from `place` because of `thrown`; it is there `perhaps` only. */
export function leftBehind(place: string | undefined, thrown: unknown, perhaps = false): DecantError {
  const status = thrown instanceof RequestRefused || thrown instanceof TransientFailure ? thrown.status : undefined;
  const fields = {
    ...(place === undefined ? {} : { leftAt: place }),
    ...(status === undefined ? {} : { leftStatus: status }),
  };
  const stays = `${perhaps ? 'may stay' : 'stays'} ${shownPlace(place)}`;
  return new DecantError('target', `what was uploaded ${stays}: it could not be removed (${reasonOf(thrown)})`, {
    code: 'left-behind',
    fields,
    cause: thrown,
  });
}

/** The error of an object that was completed at `place` before its upload was given up: perhaps, if there is a `doubt`. */
export function completedAt(place: string | undefined, doubt?: string): DecantError {
  const sentence =
    doubt === undefined
      ? `the object stays ${shownPlace(place)}: the server had completed it`
      : `the object may stay ${shownPlace(place)}: it is not known whether the server had completed it (${doubt})`;
  return new DecantError('target', sentence, {
    code: 'object-completed',
    fields: place === undefined ? {} : { leftAt: place },
  });
}

const shownPlace = (place: string | undefined): string => (place === undefined ? 'on the server' : `at '${place}'`);
