import { expect, test } from 'vitest';
import { JOURNAL, journalName } from './messages.js';

test('derives the name of a journal from its file, and back', () => {
  expect(journalName('a file')).toBe('a file.journal');
  expect(journalName('a file').replace(JOURNAL, '')).toBe('a file');
  expect('a.journal.file'.replace(JOURNAL, '')).toBe('a.journal.file');
});
