//! Disks that become larger, and their GPT, whose backup moves to the new end.

use crate::common::zip::{Entry, Zip};
use crate::common::*;
use crate::outputs::{entry, entry_with};
use decant::convert::Change;
use decant::io::target::{Abilities, Holes};
use decant::output::{Options, by_name};
use decant_codec::crc::crc32;

const MIB: usize = 1 << 20;
const ASCENDING: Abilities = Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: 0 };

/// A disk with a GPT.
#[derive(Clone, Copy)]
struct Disk {
    size: usize,
    sector: usize,
    /// The number of entries, and the size of one in bytes.
    entries: usize,
    entry: usize,
    is_hybrid: bool,
}

const DISK: Disk = Disk { size: 3 * MIB, sector: 512, entries: 128, entry: 128, is_hybrid: false };

fn put(bytes: &mut [u8], at: usize, added: &[u8]) {
    bytes[at..at + added.len()].copy_from_slice(added);
}

impl Disk {
    fn sectors(&self) -> usize {
        self.size / self.sector
    }

    fn table_len(&self) -> usize {
        (self.entries * self.entry).div_ceil(self.sector)
    }

    fn table(&self) -> Vec<u8> {
        let mut table = vec![0; self.table_len() * self.sector];
        put(&mut table, 0, &[7; 32]);
        put(&mut table, 32, &(2 + self.table_len() as u64).to_le_bytes());
        // Ends with the first 2 MiB.
        put(&mut table, 40, &((2 * MIB / self.sector) as u64 - 1).to_le_bytes());
        table
    }

    fn header(&self, place: usize, alternate: usize, table: usize) -> Vec<u8> {
        let len = self.table_len();
        let mut header = vec![0; self.sector];
        put(&mut header, 0, b"EFI PART\0\0\x01\0\x5c\0\0\0");
        for (at, value) in [
            (24, place),
            (32, alternate),
            (40, 2 + len),
            (48, self.sectors() - len - 2),
            (56, 0x1234_5678),
            (72, table),
            (80, self.entries),
            (84, self.entry),
        ] {
            put(&mut header, at, &(value as u64).to_le_bytes());
        }
        put(&mut header, 88, &crc32(&self.table()[..self.entries * self.entry]).to_le_bytes());
        let sum = crc32(&header[..92]);
        put(&mut header, 16, &sum.to_le_bytes());
        header
    }

    /// The first sectors, before the entries.
    fn start(&self) -> Vec<u8> {
        let mut mbr = vec![0; self.sector];
        let protected = if self.is_hybrid { 40 } else { self.sectors() - 1 };
        put(&mut mbr, 446, &[0, 0, 2, 0, 0xee, 0xff, 0xff, 0xff, 1, 0, 0, 0]);
        put(&mut mbr, 458, &(protected as u32).to_le_bytes());
        if self.is_hybrid {
            put(&mut mbr, 462, &[0x80, 0, 0, 0, 7, 0, 0, 0, 100, 0, 0, 0, 50]);
        }
        put(&mut mbr, 510, &[0x55, 0xaa]);
        [mbr, self.header(1, self.sectors() - 1, 2)].concat()
    }

    /// The backup at the end, and its offset.
    fn backup(&self) -> (usize, Vec<u8>) {
        let at = self.sectors() - 1 - self.table_len();
        (at * self.sector, [self.table(), self.header(self.sectors() - 1, 1, at)].concat())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut disk = vec![0; self.size];
        disk[MIB..MIB + 200_000].fill(9);
        put(&mut disk, 0, &self.start());
        put(&mut disk, 2 * self.sector, &self.table());
        let (at, backup) = self.backup();
        put(&mut disk, at, &backup);
        disk
    }

    /// The same disk with `size` bytes: the old backup stays, as `sgdisk -e` leaves it.
    fn grown(&self, size: usize) -> Vec<u8> {
        let mut disk = self.bytes();
        disk.resize(size, 0);
        let grown = Self { size, ..*self };
        put(&mut disk, 0, &grown.start());
        let (at, backup) = grown.backup();
        put(&mut disk, at, &backup);
        disk
    }
}

fn raw(image: Vec<u8>) -> Case {
    Case { format: Some("raw".to_owned()), digest: Some(Digested::Sha256), ..Case::new(image) }
}

fn fixed(case: Case, size: usize) -> Case {
    Case { change: Change { size: Some(size as u64), fix_gpt: Some(true) }, ..case }
}

fn to(case: &Case, format: &str, abilities: Abilities, job: u64) -> Converted {
    case.convert_to(format, Answers::Reverse, abilities, job)
}

fn codes(converted: &Converted) -> Vec<&'static str> {
    converted.notices.iter().map(|notice| notice.code).collect()
}

#[test]
fn a_gpt_moves_to_the_new_end() {
    let large = Disk { sector: 4096, ..DISK };
    let rows = [
        ("usual", DISK, 5 * MIB),
        ("by a sector", DISK, 3 * MIB + 512),
        ("by less than the backup has", DISK, 3 * MIB + 16 * 512),
        ("to an odd size", DISK, 4 * MIB + 1536),
        ("an odd size", Disk { size: 3 * MIB - 512, ..DISK }, 5 * MIB),
        ("large sectors", large, 5 * MIB),
        ("large sectors, by one", large, 3 * MIB + 4096),
        ("large sectors, not whole ones", large, 4 * MIB + 512),
        ("256 entries", Disk { entries: 256, ..DISK }, 5 * MIB),
        ("less than a sector of entries", Disk { entries: 3, ..DISK }, 5 * MIB),
        ("129 entries in large sectors", Disk { entries: 129, ..large }, 5 * MIB),
        ("large entries", Disk { entries: 10, entry: 256, ..DISK }, 5 * MIB),
        ("a hybrid MBR", Disk { is_hybrid: true, ..DISK }, 5 * MIB),
    ];
    for (what, disk, size) in rows {
        let (bytes, expected) = (disk.bytes(), disk.grown(size));
        let stream = Case { as_stream: true, ..raw(bytes.clone()) };
        let hash = digest_of(&bytes);
        let packed = Case { image: filter("gzip", &["-c"], &bytes), name: Some("d.gz".into()), ..stream.clone() };
        let packed = Case { as_stream: false, format: None, ..packed };
        let stated = Case { size: Some(bytes.len() as u64), ..packed.clone() };
        let zip = Zip::default().made_of(&[Entry::stored("d.raw", &bytes)]).0;
        let zip = Case { digest: Some(Digested::Sha256), ..Case::new(zip) };
        let cases =
            [("a file", raw(bytes)), ("a stream", stream), ("gzip", packed), ("gzip, stated", stated), ("zip", zip)];
        for (kind, case) in cases {
            for (abilities, job) in [(Abilities::default(), 64 << 10), (ASCENDING, 1 << 20)] {
                let converted = to(&fixed(case.clone(), size), "raw", abilities, job);
                converted.result.as_ref().unwrap_or_else(|error| panic!("{what}, {kind}: {error}"));
                assert_eq!(
                    codes(&converted),
                    if disk.sector == 512 { vec![] } else { vec!["sector-size"] },
                    "{what}, {kind}"
                );
                let (at, backup) = Disk { size, ..disk }.backup();
                let skipped = if disk.is_hybrid { disk.sector } else { 0 };
                let start = (skipped as u64, (2 * disk.sector - skipped) as u64);
                assert_eq!(converted.rewritten, [start, (at as u64, backup.len() as u64)], "{what}, {kind}");
                assert!(converted.target.bytes.take() == expected, "{what}, {kind}: other bytes");
                assert_eq!(converted.digest, Some(hash), "{what}, {kind}");
            }
        }
    }
}

/// The new backup begins before the end of a file with a checksum, in jobs of all sizes.
#[test]
fn the_checksum_of_a_file_that_grows_by_less_than_a_backup() {
    let disk = Disk { size: 4 * MIB - 512, ..DISK };
    for stated in [true, false] {
        let checked = Entry::stored("d.raw", &disk.bytes());
        let entry = if stated { checked } else { Entry { crc32: 1, ..checked } };
        let zip = Case::new(Zip::default().made_of(&[entry]).0);
        for job in [64 << 10, 1 << 20, 8 << 20] {
            for size in [4 * MIB, 4 * MIB + 20 * 512] {
                let converted = to(&fixed(zip.clone(), size), "raw", Abilities::default(), job);
                let found = converted.result.map_err(|error| error.code.to_string());
                assert_eq!(found.map(drop), if stated { Ok(()) } else { Err("zip-damaged".to_owned()) }, "{job}");
                assert!(!stated || converted.target.bytes.take() == disk.grown(size), "{job}: other bytes");
            }
        }
    }
}

#[test]
fn every_output_has_the_larger_disk() {
    let (size, bytes) = (5 * MIB + 512, DISK.bytes());
    let expected = DISK.grown(size);
    let fixed_vhdx = ("vhdx", &[("subformat", "fixed"), ("block_size", "0")][..]);
    let outputs =
        ["raw", "qcow2", "vmdk", "vhdx", "vdi", "raw.gz", "raw.zst", "raw.xz", "ova"].map(|name| (name, &[][..]));
    for (name, options) in outputs.into_iter().chain([fixed_vhdx, ("vpc", &[("subformat", "dynamic")])]) {
        let output = if options.is_empty() { entry(name) } else { entry_with(name, options) };
        let format = by_name(name).unwrap();
        let given: Vec<_> = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = || match given[..] {
            [] => Options::recommended(format),
            _ => Options::new(format, &given).unwrap(),
        };
        let stream = Case { as_stream: true, ..raw(bytes.clone()) };
        let late = Abilities { late_start: u64::MAX, ..Abilities::default() };
        for (case, abilities) in [(raw(bytes.clone()), late), (raw(bytes.clone()), ASCENDING), (stream, late)] {
            let case = fixed(case, size);
            let converted = case.convert_with(format, options(), Answers::InOrder, abilities, 1 << 20);
            converted.result.as_ref().unwrap_or_else(|error| panic!("{name}: {error}"));
            let file = converted.target.bytes.take();
            assert_eq!(converted.digest, Some(digest_of(&bytes)), "{name}");
            assert_eq!(file.len() as u64, converted.output_size, "{name}");
            let read = (output.read)(&file, size);
            assert!(read[..size.min(read.len())] == expected, "{name}");
        }
    }
}

#[test]
fn the_gpt_moves_by_default_where_the_format_rounds_up() {
    let disk = Disk { size: 3 * MIB - 1024, ..DISK };
    let bytes = disk.bytes();
    let mut unmoved = bytes.clone();
    unmoved.resize(3 * MIB, 0);
    let (file, stream) = (raw(bytes.clone()), Case { as_stream: true, ..raw(bytes.clone()) });
    let packed = Case { name: Some("d.gz".into()), ..Case::new(filter("gzip", &["-c"], &bytes)) };
    let stated = Case { size: Some(bytes.len() as u64), ..packed };
    let with = |case: &Case, size: Option<usize>, fix_gpt| {
        let size = size.map(|size| size as u64);
        Case { change: Change { size, fix_gpt }, ..case.clone() }
    };
    let moved = disk.grown(3 * MIB);
    let grown = || {
        let mut disk = moved.clone();
        disk.resize(4 * MIB, 0);
        disk
    };
    // (what, case, the disk, codes of notices)
    let rows = [
        ("a file", with(&file, None, None), &moved, &["disk-grows"][..]),
        ("a stream of known size", with(&stated, None, None), &moved, &["disk-grows"]),
        ("a stream", with(&stream, None, None), &unmoved, &["disk-grows", "gpt-not-at-end"]),
        ("not wanted", with(&file, None, Some(false)), &unmoved, &["disk-grows", "gpt-not-at-end"]),
        ("not wanted, stated", with(&stated, None, Some(false)), &unmoved, &["disk-grows", "gpt-not-at-end"]),
        ("a size", with(&file, Some(3 * MIB), None), &unmoved, &["gpt-not-at-end"]),
        ("a size of a stream", with(&stream, Some(3 * MIB), None), &unmoved, &["gpt-not-at-end"]),
        ("a size that is rounded up", with(&file, Some(3 * MIB - 512), None), &moved, &["disk-grows"]),
        ("that of a stream", with(&stream, Some(3 * MIB - 512), None), &moved, &["disk-grows"]),
        ("the same size", with(&file, Some(3 * MIB - 1024), Some(false)), &unmoved, &["disk-grows", "gpt-not-at-end"]),
        ("moved before", with(&raw(moved.clone()), None, Some(true)), &moved, &["gpt-unchanged"]),
        ("not moved before", with(&raw(unmoved.clone()), None, Some(true)), &moved, &[]),
        (
            "that in a stream",
            with(&Case { as_stream: true, ..raw(unmoved.clone()) }, Some(3 * MIB), Some(true)),
            &moved,
            &[],
        ),
        ("no GPT", with(&raw(vec![1; 3 * MIB]), None, Some(true)), &vec![1; 3 * MIB], &["gpt-unchanged"]),
        ("a GPT that is not moved", with(&raw(moved.clone()), Some(4 * MIB), None), &grown(), &["gpt-not-at-end"]),
    ];
    for (what, case, expected, notices) in rows {
        for abilities in [Abilities::default(), ASCENDING] {
            let converted = to(&case, "vpc", abilities, 1 << 20);
            converted.result.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
            let mut found = codes(&converted);
            found.sort_unstable();
            assert_eq!(found, notices, "{what}");
            let output = converted.target.bytes.take();
            assert!(output[..output.len() - 512] == expected[..], "{what}: other bytes");
            assert_eq!(converted.rewritten.is_empty(), *expected != moved || what == "moved before", "{what}");
        }
    }
}

#[test]
fn a_damaged_gpt_stays_as_it_is() {
    let changed = |at: usize, bytes: &[u8]| {
        let mut disk = DISK.bytes();
        put(&mut disk, at, bytes);
        disk
    };
    // Fields of the header, with its checksum.
    let stated = |at: usize, bytes: &[u8]| {
        let mut disk = changed(512 + at, bytes);
        put(&mut disk, 528, &[0; 4]);
        let sum = crc32(&disk[512..604]);
        put(&mut disk, 528, &sum.to_le_bytes());
        disk
    };
    let rows = [
        ("the signature", changed(512, b"X")),
        ("a field without the checksum", changed(512 + 48, &[1])),
        ("an entry", changed(1024, &[8])),
        ("no entries", stated(80, &[0; 4])),
        ("entries of 0 bytes", stated(84, &[0; 4])),
        ("entries of 192 bytes", stated(84, &[192])),
        ("entries of 64 bytes", stated(84, &[64])),
        ("too many entries", stated(80, &[0xff; 4])),
        ("the most entries of the largest size", stated(80, &[0xff; 8])),
        ("entries in the header", stated(72, &[1])),
        ("entries after the disk", stated(72, &[0xff; 7])),
        ("entries at the end of numbers", stated(72, &[0xff; 8])),
        ("usable sectors before the entries", stated(40, &[3])),
        ("usable sectors after the disk", stated(40, &[0, 0, 0, 1])),
        ("the checksum of the entries", stated(88, &[0x5a; 4])),
        ("partitions after the disk", {
            let mut disk = DISK.bytes();
            put(&mut disk, 1024 + 40, &[0xff; 6]);
            let sum = crc32(&disk[1024..1024 + 128 * 128]).to_le_bytes();
            put(&mut disk, 512 + 88, &sum);
            put(&mut disk, 528, &[0; 4]);
            let sum = crc32(&disk[512..604]);
            put(&mut disk, 528, &sum.to_le_bytes());
            disk
        }),
    ];
    for (what, disk) in rows {
        for stream in [false, true] {
            let case = Case { as_stream: stream, ..raw(disk.clone()) };
            let refused = to(&fixed(case.clone(), 4 * MIB), "raw", Abilities::default(), 1 << 20);
            assert_eq!(refused.result.expect_err(what).code, "gpt-damaged", "{what}, {stream}");
            assert!(!refused.target.finished.get(), "{what}");
            // Nothing was asked for, so there is only a notice.
            let change = Change { size: Some(4 * MIB as u64 - 512), fix_gpt: None };
            let converted = to(&Case { change, ..case }, "vpc", Abilities::default(), 1 << 20);
            let mut expected = disk.clone();
            expected.resize(4 * MIB, 0);
            assert!(converted.target.bytes.take().starts_with(&expected), "{what}");
            assert!(codes(&converted).contains(&"gpt-not-at-end"), "{what}");
        }
    }
}

#[test]
fn a_disk_does_not_become_smaller() {
    let bytes = DISK.bytes();
    let packed = Case { name: Some("d.gz".into()), ..Case::new(filter("gzip", &["-c"], &bytes)) };
    let stream = Case { as_stream: true, ..raw(bytes.clone()) };
    let stated = Case { size: Some(bytes.len() as u64), ..packed.clone() };
    for (what, case) in [("a file", raw(bytes)), ("gzip", packed), ("stated", stated), ("a stream", stream)] {
        for (size, format) in [(512, "raw"), (2 * MIB, "qcow2"), (3 * MIB - 512, "raw"), (3 * MIB - 512, "vpc")] {
            let change = Change { size: Some(size as u64), fix_gpt: None };
            let late = Abilities { late_start: u64::MAX, ..Abilities::default() };
            let refused = to(&Case { change, ..case.clone() }, format, late, 1 << 20);
            assert_eq!(refused.result.unwrap_err().code, "size-smaller", "{what}, {size}");
            assert!(!refused.target.finished.get(), "{what}");
        }
    }
}

#[test]
fn limits_of_formats_hold_for_the_larger_disk() {
    for (format, size, code) in [
        ("vpc", 2041_u64 << 30, "vhd-too-large"),
        ("vhdx", 65 << 40, "vhdx-too-large"),
        ("vdi", 9 << 40, "vdi-too-large"),
    ] {
        for as_stream in [false, true] {
            let change = Change { size: Some(size), fix_gpt: None };
            let refused = to(&Case { as_stream, change, ..raw(DISK.bytes()) }, format, Abilities::default(), 1 << 20);
            assert_eq!(refused.result.unwrap_err().code, code);
        }
    }
}

/// The checksum of a stored file in a zip archive is that of the image, not of the disk with another GPT.
#[test]
fn the_checksum_of_the_image_is_verified() {
    for (size, is_damaged) in [(5 * MIB, false), (3 * MIB, false), (3 * MIB + 512, true)] {
        let mut disk = DISK.bytes();
        // A GPT that was left behind by other growth.
        disk[512 + 32] = 1;
        disk[528..532].fill(0);
        let sum = crc32(&disk[512..604]);
        put(&mut disk, 528, &sum.to_le_bytes());
        let mut zip = Zip::default().made_of(&[Entry::stored("d.raw", &disk)]).0;
        if is_damaged {
            let data = zip.len() - MIB;
            zip[data] ^= 1;
        }
        let converted = to(&fixed(Case::new(zip), size), "raw", Abilities::default(), 1 << 20);
        assert_eq!(converted.result.is_err(), is_damaged, "{size}");
    }
}
