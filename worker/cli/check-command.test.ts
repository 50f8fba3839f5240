// The report of `decant check`: as `qemu-img check` prints it.

import { describe, expect, test } from 'vitest';
import type { FileCheck } from '../public/types.js';
import { checkJson, checkText } from './check-command.js';

const SOUND: FileCheck = {
  corruptions: 0,
  leaks: 0,
  unchecked: 0,
  totalClusters: 160,
  allocatedClusters: 17,
  fragmentedClusters: 1,
  compressedClusters: 0,
  imageEnd: 1_441_792,
  hasTables: true,
  countsLeaks: true,
  findings: [],
};

describe('the text', () => {
  const clusters = '17/160 = 10.62% allocated, 5.88% fragmented, 0.00% compressed clusters';
  const end = 'Image end offset: 1441792';
  const corrupt = [
    '',
    '2 errors were found on the image.',
    'Data may be corrupted, or further writes to the image may corrupt it.',
  ];
  const leaked = [
    '',
    '3 leaked clusters were found on the image.',
    'This means waste of disk space, but no harm to data.',
  ];
  const unchecked = ['', '4 internal errors have occurred during the check.'];
  test.each([
    ['of a sound image', {}, ['No errors were found on the image.', clusters, end]],
    ['of a format without numbers', { totalClusters: 0, imageEnd: 0 }, ['No errors were found on the image.']],
    ['of an empty image', { allocatedClusters: 0, imageEnd: 0 }, ['No errors were found on the image.']],
    ['of corruptions', { corruptions: 2 }, [...corrupt, clusters, end]],
    ['of all', { corruptions: 2, leaks: 3, unchecked: 4 }, [...corrupt, ...leaked, ...unchecked, clusters, end]],
  ])('%s', (_, found, expected) => {
    expect(checkText({ ...SOUND, ...found })).toEqual(expected);
  });
});

test('the JSON leaves out numbers that are 0, but for the errors', () => {
  const finding = { kind: 'leak', count: 2, code: 'check-leak', fields: {}, message: 'm' } as const;
  const checked = { ...SOUND, leaks: 2, findings: [finding], filename: 'a.qcow2', format: 'qcow2' };
  expect(JSON.parse(checkJson(checked).join('\n'))).toEqual({
    'image-end-offset': 1_441_792,
    'total-clusters': 160,
    'allocated-clusters': 17,
    'fragmented-clusters': 1,
    leaks: 2,
    'check-errors': 0,
    filename: 'a.qcow2',
    format: 'qcow2',
    findings: [finding],
  });
});
