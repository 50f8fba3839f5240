// The files that are passed over if there are very many.

import { expect, test, vi } from 'vitest';
import { fileOf, inputNamed } from '../element.test-support.js';
import { Link } from './input-file.js';
import { passOver, readLikely } from './many-files.js';

const zeros = (length: number) => new Uint8Array(length);
const withStart = (start: string, length = 1024) => {
  const bytes = zeros(length);
  bytes.set([...start].map((character) => character.charCodeAt(0)));
  return bytes;
};
const text = 'One line of words.\n'.repeat(100);

// (name, content, whether it may be an image)
test.each<[string, BlobPart, boolean]>([
  ['disk.qcow2', 'QFI\xfb', true],
  ['disk.qcow2', '', false],
  ['disk.img', text, true],
  ['notes.txt', zeros(1024), false],
  ['NOTES.TXT', text, false],
  ['vmware.log', text, false],
  ['photo.JPG', withStart('\xff\xd8\xff\xe0'), false],
  ['disk', withStart('QFI\xfb'), true],
  ['disk', zeros(1024), true],
  ['disk', '', false],
  ['too small', zeros(511), false],
  ['README', text, false],
  ['UTF-16', withStart('\xff\xfea\0b\0'), false],
  ['UTF-8', 'Größe: 1 Ω\n'.repeat(100), false],
  ['descriptor', `# Disk DescriptorFile\n${text}`, true],
  ['vdi without extension', withStart('<<< Oracle VM VirtualBox Disk Image >>>\n'), true],
  ['photo', withStart('\xff\xd8\xff\xe0'), false],
  ['picture', withStart('\x89PNG\r\n\x1a\n'), false],
  ['document', withStart('%PDF-1.7'), false],
  ['program', withStart('\x7fELF'), false],
  ['machine.vmx', '.encoding = "UTF-8"', true],
  ['machine.ovf', '<?xml version="1.0"?>', true],
  ['disk.vmdk', '# Disk DescriptorFile', true],
  ['disk.raw.001', text, true],
  ['f1c0.bin', zeros(1024), true],
])('%s with %o: %o', async (name, content, mayBe) => {
  const input = inputNamed(name, content);
  expect(await passOver([input])).toEqual(mayBe ? { likely: [input], passed: [] } : { likely: [], passed: [input] });
});

test('links, and files that cannot be read, are not passed over', async () => {
  const link = { ...inputNamed('disk', ''), link: new Link(new URL('https://a.org/disk')) };
  const unreadable = { file: fileOf('disk', zeros(1024)) };
  vi.spyOn(unreadable.file, 'slice').mockImplementation(() => {
    throw new DOMException('no', 'NotReadableError');
  });
  expect(await passOver([link, unreadable])).toEqual({ likely: [link, unreadable], passed: [] });
});

test('ten thousand text files and one disk: the order stays, and only what may be a disk is read', async () => {
  const read = vi.fn(async () => inputNamed('disk.qcow2', 'QFI\xfb'));
  const other = vi.fn(async () => inputNamed('notes.txt'));
  const listed = Array.from({ length: 10_000 }, (_, at) => ({ name: `${at}.txt`, read: other }));
  const files = await readLikely([...listed, { name: 'disk.qcow2', read }, { name: 'README', read: other }]);
  expect(read).toHaveBeenCalledOnce();
  expect(other).toHaveBeenCalledOnce();
  const { likely, passed } = await passOver(files);
  expect(likely.map(({ file }) => file.name)).toEqual(['disk.qcow2']);
  expect(passed.map(({ file }) => file.name)).toEqual([...listed.map(({ name }) => name), 'notes.txt']);
});
