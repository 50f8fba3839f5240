//! A tar archive of one regular file, as GNU tar writes it with `--format=oldgnu` (GNU tar manual, "Basic Tar Format"
//! and "GNU Extensions to the Archive Format").

/// The block size of an archive, in bytes.
pub(super) const BLOCK: u64 = 512;
/// Length of the end marker, which is zeros, in bytes.
const END: u64 = 2 * BLOCK;
/// The record size, in bytes; an archive has whole records.
pub(super) const RECORD: u64 = 20 * BLOCK;
/// The smallest size that does not fit eleven octal digits, in bytes.
const TOO_LARGE: u64 = 1 << 33;

/// Offsets of fields in the header.
const SIZE: usize = 124;
const CHECKSUM: usize = 148;

/// Returns the header of the file `name` (at most 99 bytes) with `size` bytes, modified `seconds` after 1970-01-01
/// 00:00 UTC.
pub(crate) fn header(name: &[u8], size: u64, seconds: u64) -> [u8; BLOCK as usize] {
    header_of(b'0', name, size, seconds)
}

/// Returns what precedes the header of a file whose `name` is too long for it.
pub(crate) fn long_name(name: &[u8]) -> Vec<u8> {
    let size = name.len() as u64 + 1;
    let mut bytes = header_of(b'L', b"././@LongLink", size, 0).to_vec();
    bytes.extend(name);
    bytes.resize((BLOCK + size).next_multiple_of(BLOCK) as usize, 0);
    bytes
}

fn header_of(kind: u8, name: &[u8], size: u64, seconds: u64) -> [u8; BLOCK as usize] {
    let mut bytes = [0; BLOCK as usize];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(0, name);
    // Mode, owner, group.
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    if size < TOO_LARGE {
        put(SIZE, format!("{size:011o}\0").as_bytes());
    } else {
        // Base 256: big-endian, marked by the highest bit of the field of 12 bytes.
        put(SIZE, &[0x80, 0, 0, 0]);
        put(SIZE + 4, &size.to_be_bytes());
    }
    put(136, format!("{:011o}\0", seconds.min(TOO_LARGE - 1)).as_bytes());
    // The checksum field is summed as spaces.
    put(CHECKSUM, b"        ");
    put(156, &[kind]);
    put(257, b"ustar  \0");
    put(265, b"root");
    put(297, b"root");
    let sum: u32 = bytes.iter().map(|&byte| u32::from(byte)).sum();
    bytes[CHECKSUM..CHECKSUM + 8].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes
}

/// Number of zeros from the end of the only file, of `size` bytes (a multiple of 512), to the end of the archive.
pub(super) fn zeros_after_only_file(size: u64) -> u64 {
    zeros_after(BLOCK + size)
}

/// Number of zeros from `end`, the end of the last file, to the end of the archive.
pub(super) fn zeros_after(end: u64) -> u64 {
    (end + END).next_multiple_of(RECORD) - end
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    const GIB: u64 = 1 << 30;

    /// The archives are sparse files, with holes for the disks.
    #[test]
    fn tar_reads_what_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk.tar");
        for gib in [0, 1, 7, 8, 9, 100, 4096] {
            let size = gib * GIB;
            let file = File::create(&path).unwrap();
            file.write_all_at(&header(b"disk.raw", size, 1_700_000_000), 0).unwrap();
            let len = BLOCK + size + zeros_after_only_file(size);
            assert_eq!(len % RECORD, 0, "{gib} GiB");
            assert!(zeros_after_only_file(size) >= END, "{gib} GiB");
            file.set_len(len).unwrap();
            let listed = Command::new("tar").args(["--utc", "-tvf"]).arg(&path).output().unwrap();
            let text = String::from_utf8(listed.stdout).unwrap();
            let expected = format!("-rw-r--r-- root/root {size} 2023-11-14 22:13 disk.raw");
            let words: Vec<_> = text.split_whitespace().collect();
            assert_eq!(words.join(" "), expected, "{gib} GiB");
            assert!(listed.status.success() && listed.stderr.is_empty(), "{gib} GiB: {:?}", listed.stderr);
        }
    }

    #[test]
    fn headers_are_those_of_gnu_tar() {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("disk.raw");
        for size in [0, GIB, 8 * GIB - 512, 8 * GIB, 20 * GIB] {
            File::create(&disk).unwrap().set_len(size).unwrap();
            let mut tar = Command::new("tar");
            tar.args(["--format=oldgnu", "--owner=root:0", "--group=root:0", "--mode=0644", "--mtime=@1700000000"]);
            tar.args(["-cf", "-", "-C"]).arg(dir.path()).arg("disk.raw");
            let expected = first_block(tar);
            assert_eq!(header(b"disk.raw", size, 1_700_000_000), expected, "{size}");
        }
    }

    fn first_block(mut command: Command) -> [u8; BLOCK as usize] {
        use std::io::Read;
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut block = [0; BLOCK as usize];
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut block).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        block
    }
}
