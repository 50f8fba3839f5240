#!/bin/sh
# Makes web/sample.qcow2 anew: a small ext4 file system with this project's texts, compressed.
# Needs e2fsprogs and qemu-utils. The file is kept in the repository, so that the page needs neither.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/files"
cp README.md LICENSE-* docs/*.md "$work/files/"
truncate -s 64M "$work/disk.raw"
mkfs.ext4 -q -L sample -d "$work/files" "$work/disk.raw"
qemu-img convert -c -O qcow2 "$work/disk.raw" web/sample.qcow2
