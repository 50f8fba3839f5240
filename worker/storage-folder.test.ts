import { expect, test } from 'vitest';
import { JOURNAL, journalName } from './storage-folder.js';

test('a journal is found by the name of its file, and the file by that of its journal', () => {
  expect(journalName('a file')).toBe('a file.journal');
  expect(journalName('a file').replace(JOURNAL, '')).toBe('a file');
  expect('a.journal.file'.replace(JOURNAL, '')).toBe('a.journal.file');
});
