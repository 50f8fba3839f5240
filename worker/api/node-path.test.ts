// Paths, and advice for unsupported URLs.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { test } from '../targets/node/folder.test-support.js';
import { localPath, toPath } from './node-path.js';

describe('a file: URL', () => {
  for (const [given, path] of [
    ['file:///a/b%20c', '/a/b c'],
    ['FILE://localhost/a', '/a'],
    // URLs without two slashes, which QEMU accepts.
    ['file:/a/b%20c', '/a/b%20c'],
    ['file:a.qcow2', 'a.qcow2'],
    ['a:b', 'a:b'],
    ['./file:a', './file:a'],
  ] as const) {
    test(given, () => {
      expect(localPath(given)).toBe(path);
      expect(toPath(given)).toBe(path);
    });
  }

  test('of another machine is refused', () => {
    expect(() => toPath('file://elsewhere/a')).toThrow(expect.objectContaining({ kind: 'usage' }));
  });
});

describe('advice for an unsupported URL', () => {
  for (const [given, shown, advice] of [
    ['s3://bucket/key?x=SECRET', 's3://bucket/key', /S3 object.*aws s3 presign.*--upload s3/],
    ['gs://bucket/key', 'gs://bucket/key', /Google Cloud Storage.*sign-url.*--upload gcs/],
    ['az://container/blob', 'az://container/blob', /Azure.*SAS token.*--upload azure/],
    ['nbd://host:10809/name', 'nbd://host:10809/name', /network block device.*nbdcopy/],
    ['nbd:host:10809', 'nbd:...', /network block device.*nbdcopy/],
    ['nbd+unix:///name?socket=/run/x', 'nbd+unix:///name', /network block device.*nbdcopy/],
    ['ssh://user@host/disk', 'ssh://host/disk', /another machine.*ssh HOST cat FILE/],
    ['sftp://host/disk', 'sftp://host/disk', /another machine.*ssh HOST cat FILE/],
    ['ftp://user:SECRET@host/disk', 'ftp://host/disk', /FTP is not supported: copy the file here first/],
    ['rbd:pool/image:id=admin:key=SECRET', 'rbd:...', /Ceph.*rbd export/],
    ['smb://host/share/disk', 'smb://host/share/disk', /mount the share/],
    ['iscsi://host/target/0', 'iscsi://host/target/0', /attach the disk/],
    ['json:{"driver":"qcow2"}', 'json:...', /path of the file itself/],
    ['gopher://host/x', 'gopher://host/x', /begins with http:\/\/ or https:\/\//],
  ] as const) {
    test(given, () => {
      const message = expect.stringMatching(advice);
      const scheme = given.slice(0, given.indexOf(':'));
      expect(() => toPath(given)).toThrow(
        expect.objectContaining({ kind: 'usage', code: 'address-unsupported', fields: { scheme }, message }),
      );
      expect(() => toPath(given)).toThrow(`'${shown}' is neither a path nor a supported URL: `);
      expect(() => toPath(given)).not.toThrow('SECRET');
    });
  }

  test('none if a file has that name', ({ folder }) => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      writeFileSync('nbd:disk', '');
      expect(toPath('nbd:disk')).toBe('nbd:disk');
    } finally {
      process.chdir(before);
    }
    expect(toPath(join(folder, 'nbd:disk'))).toBe(join(folder, 'nbd:disk'));
  });
});
