// Steps that are offered after a failure: only those that may work, the most likely first.

import { DecantError, type ErrorKind, type Extent, type Fields } from 'decant';
import { beforeEach, expect, test, vi } from 'vitest';
import { fileHandle, fileOf, imageOf, inputNamed } from '../element.test-support.js';
import { linked } from '../files/input-file.js';
import { beginOpening, type Opening } from '../files/opening.js';
import { asError } from '../steps/screen.js';
import { isOfCompanion, remediesAfter } from './failure.js';

/** The extents that a salvage lists; an error if the image cannot be opened. */
let salvaged: Extent['kind'][] | Error = [];

vi.mock('decant', async (original) => ({
  ...(await original<typeof import('decant')>()),
  httpSource: async () => new Blob(),
  open: async (_input: unknown, { salvage }: { salvage?: boolean }) => {
    if (!salvage) throw new Error('opened without salvage');
    if (salvaged instanceof Error) throw salvaged;
    const kinds = salvaged;
    return imageOf(
      {},
      {
        map: async function* () {
          for (const kind of kinds) yield { kind } as Extent;
        },
      },
    );
  },
}));

beforeEach(() => {
  salvaged = [];
});

const opened = (name: string, content?: BlobPart, more: Partial<Opening> = {}): Opening => ({
  ...beginOpening({ top: inputNamed(name, content), companions: [], called: [name] }),
  ...more,
});

const stepsAfter = (kind: ErrorKind, opening: Opening, fields: Fields = {}) =>
  remediesAfter(new DecantError(kind, 'Something is wrong', { fields }), opening, new AbortController().signal);

const withCompanion = { companions: [inputNamed('base.qcow2')] };
const handled = (content: string) => {
  const file = fileOf('disk.qcow2', content);
  return { ...opened('disk.qcow2'), top: { file, handle: fileHandle(file) } };
};
const remote = { ...opened('disk.qcow2'), top: linked(new URL('https://a.org/disk.qcow2')) };

// (case, kind of failure, opening, steps, fields of the error)
for (const [what, kind, opening, steps, fields] of [
  ['a file that may be a raw disk', 'not-recognised', opened('disk.img'), ['raw']],
  ['an empty file', 'not-recognised', opened('disk.img', ''), []],
  ['a document', 'not-recognised', opened('paper.pdf'), []],
  ['an image of a disc', 'unsupported', opened('disc.iso'), ['raw'], { format: 'iso' }],
  ['an image of a disc in an archive', 'unsupported', opened('disc.zip'), [], { format: 'iso' }],
  [
    'a file that may be raw or have a wrong companion',
    'not-recognised',
    opened('a.img', 'x', withCompanion),
    ['raw', 'filesAgain'],
  ],
  ['no data left to read', 'corrupt', opened('disk.qcow2'), []],
  ['a file that was chosen', 'source', opened('disk.qcow2'), []],
  ['a file with a handle', 'source', handled('content'), ['again']],
  ['a file that is empty now', 'source', handled(''), []],
  ['an image on a server', 'source', remote, ['again', 'editLink']],
  ['a wrong link', 'source', remote, ['editLink', 'again'], { status: 404 }],
  ['a server that fails', 'source', remote, ['again', 'editLink'], { status: 503 }],
  ['a link to a page', 'not-recognised', remote, ['editLink']],
  ['a cancel', 'cancelled', opened('disk.qcow2'), ['saveAgain']],
  ['a full disk', 'target', opened('disk.qcow2'), ['saveAgain']],
  ['a worker that died', 'internal', opened('disk.qcow2'), ['again']],
  ['an unsupported feature', 'unsupported', opened('disk.qcow2'), []],
  ['an unsupported feature, with a companion', 'unsupported', opened('disk.qcow2', 'x', withCompanion), ['filesAgain']],
  ['a limit, with a companion', 'limit', opened('disk.qcow2', 'x', withCompanion), []],
  ['two files that match', 'usage', opened('disk.qcow2', 'x', withCompanion), ['filesAgain']],
  ['a password', 'password', opened('disk.qcow2', 'x', withCompanion), []],
] as [string, ErrorKind, Opening, string[], Fields?][]) {
  test(`after ${kind}, ${what}: ${steps.join(', ') || 'nothing'}`, async () => {
    expect(await stepsAfter(kind, opening, fields)).toEqual(steps);
  });
}

test('a salvage is offered only if it would read some data', async () => {
  salvaged = ['lost', 'zero', 'data'];
  expect(await stepsAfter('corrupt', opened('disk.qcow2'))).toEqual(['salvage']);
  expect(await stepsAfter('corrupt', opened('disk.qcow2', 'x', { salvage: true }))).toEqual([]);
  salvaged = ['lost', 'zero'];
  expect(await stepsAfter('corrupt', opened('disk.qcow2'))).toEqual([]);
  salvaged = new DecantError('corrupt', 'The header is damaged');
  expect(await stepsAfter('corrupt', opened('disk.qcow2'))).toEqual([]);
});

test('a file whose size may be that of a raw disk can be read as one', async () => {
  const error = new DecantError('not-recognised', 'It is in no format', {
    code: 'state-format',
    fields: { format: 'raw' },
  });
  const { signal } = new AbortController();
  expect(await remediesAfter(error, opened('disk'), signal)).toEqual(['raw']);
});

test('if a companion caused the failure, choosing the files again comes first', async () => {
  salvaged = ['data'];
  const ofCompanion = { file: 'base.qcow2' };
  expect(await stepsAfter('corrupt', opened('a.qcow2', 'x', withCompanion), ofCompanion)).toEqual([
    'filesAgain',
    'salvage',
  ]);
  expect(await stepsAfter('not-recognised', opened('a.img', 'x', withCompanion), ofCompanion)).toEqual(['filesAgain']);
  expect(await stepsAfter('corrupt', opened('a.qcow2'), ofCompanion)).toEqual(['salvage']);
  expect(isOfCompanion(new DecantError('corrupt', 'a', { fields: ofCompanion }))).toBe(true);
  expect(isOfCompanion(new DecantError('missing-file', 'a', { fields: ofCompanion }))).toBe(false);
});

test('anything thrown becomes a DecantError', () => {
  const error = new DecantError('target', 'full');
  expect(asError(error)).toBe(error);
  expect(asError(new TypeError('x is undefined'))).toMatchObject({
    kind: 'internal',
    message: 'TypeError: x is undefined',
  });
});
