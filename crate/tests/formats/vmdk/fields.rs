//! VMDKs with one changed field.

use super::*;
use crate::common::table::Reads::{Fails, Same};
use crate::common::table::{Row, check_changed_files, check_changes};
use decant::ErrorKind::*;

pub fn check() {
    header_and_tables();
    compressed_grains();
    cowd();
    sesparse();
}

fn header_and_tables() {
    let no_markers = le32(0x1_0005);
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(0, b"KDMW")], Fails(NotRecognised, "not in a known disk image format")),
        ("version 0", &[(4, &le32(0))], Fails(Unsupported, "version 0")),
        ("version 2", &[(4, &le32(2))], Same),
        ("version 4", &[(4, &le32(4))], Fails(Unsupported, "version 4")),
        ("unknown flags", &[(8, &le32(0x8000_0005))], Same),
        ("no flag for line ends, and none", &[(8, &le32(4)), (73, &[0; 4])], Same),
        ("other line ends", &[(73, b"\n \n\n")], Fails(Corrupt, "as binary")),
        ("compressed, but not how", &[(8, &no_markers)], Fails(Corrupt, "does not say how")),
        ("another compression", &[(77, &[2, 0])], Fails(Unsupported, "compression method 2")),
        ("dirty", &[(72, &[1])], Same),
        ("no capacity, so a descriptor", &[(12, &le64(0))], Fails(Corrupt, "is the image itself")),
        ("capacity of 2^53", &[(12, &le64(1 << 44))], Fails(Limit, "2^53")),
        ("capacity of 2^64", &[(12, &le64(u64::MAX))], Fails(Limit, "2^53")),
        ("grain of 0", &[(20, &le64(0))], Fails(Corrupt, "grain size")),
        ("grain of 3 sectors", &[(20, &le64(3))], Fails(Corrupt, "grain size")),
        ("grain of 2 GiB", &[(20, &le64(1 << 22))], Fails(Corrupt, "grain size")),
        ("grain of 2^64", &[(20, &le64(u64::MAX))], Fails(Corrupt, "grain size")),
        ("no descriptor", &[(28, &le64(0))], Fails(MissingFile, "open the descriptor")),
        ("blank descriptor", &[(DESCRIPTOR, &[0; 200])], Fails(MissingFile, "open the descriptor")),
        ("descriptor after the end", &[(28, &le64(1 << 20))], Fails(Corrupt, "the descriptor")),
        ("descriptor at 2^64", &[(28, &le64(u64::MAX))], Fails(Corrupt, "impossible position")),
        ("descriptor of 1 sector", &[(36, &le64(1))], Same),
        ("descriptor too large", &[(36, &le64(1 << 12))], Fails(Limit, "descriptor")),
        ("descriptor of 2^64", &[(36, &le64(u64::MAX))], Fails(Limit, "descriptor")),
        ("no entries in a table", &[(44, &le32(0))], Fails(Corrupt, "entries")),
        ("many entries in a table", &[(44, &le32(1 << 16))], Same),
        ("too many entries in a table", &[(44, &le32(u32::MAX))], Fails(Corrupt, "entries")),
        ("redundant, without the flag", &[(48, &le64(1 << 40))], Same),
        ("directory after the end", &[(56, &le64(1 << 20))], Fails(Corrupt, "the grain directory")),
        ("directory at 2^64-2", &[(56, &le64(u64::MAX - 1))], Fails(Corrupt, "impossible position")),
        ("footer that is not there", &[(56, &le64(u64::MAX))], Fails(Corrupt, "footer")),
        ("table after the end", &[(DIRECTORY, &le32(1 << 20))], Fails(Corrupt, "a grain table")),
        ("grain after the end", &[(TABLE + 4, &le32(1 << 20))], Fails(Corrupt, "a grain is at")),
        ("grain that ends after the end", &[(TABLE + 4, &le32(48))], Fails(Corrupt, "inside a grain")),
    ];
    check_changes(&Case { name: Some("a.vmdk".to_owned()), ..Case::new(plain()) }, &whole(), rows);
}

fn compressed_grains() {
    let stream = stream(false);
    let zlib = GRAINS + 12;
    let len = u32::from_le_bytes(stream[GRAINS + 8..zlib].try_into().unwrap()) as usize;
    let adler = zlib + len - 4;
    let second = u32::from_le_bytes(stream[TABLE + 12..TABLE + 16].try_into().unwrap());
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        // QEMU ignores it.
        ("another sector", &[(GRAINS, &le64(8))], Fails(Corrupt, "the marker of another grain")),
        ("another grain", &[(TABLE, &le32(second))], Fails(Corrupt, "the marker of another grain")),
        ("a length of 0", &[(GRAINS + 8, &le32(0))], Fails(Corrupt, "decompress")),
        ("a length that is short", &[(GRAINS + 8, &le32(len as u32 - 5))], Fails(Corrupt, "decompress")),
        ("a length without the checksum", &[(GRAINS + 8, &le32(len as u32 - 1))], Fails(Corrupt, "decompress")),
        ("a length of twice the grain", &[(GRAINS + 8, &le32(2 * 4096 - 12))], Same),
        ("a length beyond that", &[(GRAINS + 8, &le32(2 * 4096 - 11))], Fails(Corrupt, "twice the size")),
        ("a length beyond the end", &[(GRAINS + 8, &le32(0x7fff_ffff))], Fails(Corrupt, "twice the size")),
        ("the greatest length", &[(GRAINS + 8, &le32(u32::MAX))], Fails(Corrupt, "twice the size")),
        ("a method that is not deflate", &[(zlib, &[0x79])], Fails(Corrupt, "decompress")),
        ("a dictionary", &[(zlib + 1, &[0xbb])], Fails(Corrupt, "decompress")),
        ("the check of the header", &[(zlib + 1, &[0x9d])], Fails(Corrupt, "decompress")),
        ("the stream", &[(zlib + 3, &[0xff; 8])], Fails(Corrupt, "decompress")),
        ("the checksum", &[(adler, &[stream[adler] ^ 1])], Fails(Corrupt, "the right checksum")),
        ("grains of more than 2 MiB", &[(20, &le64(8192))], Fails(Limit, "2097152")),
        ("grains that are larger", &[(20, &le64(16))], Fails(Corrupt, "decompress")),
    ];
    check_changes(&Case::new(stream.clone()), &whole(), rows);
    // A stream that is longer than its grain is invalid, as for zlib.
    let grains = vec![Grain::Data(pattern(1, 9 * SECTOR))];
    let longer = Kdmv { packing: Packing::Marked, ..Kdmv::default() }.build(&grains);
    assert!(Case::new(longer).bytes().unwrap_err().message().contains("decompress"));
    let shorter = Kdmv { packing: Packing::Marked, ..Kdmv::default() };
    let shorter = shorter.build(&[Grain::Data(pattern(1, 7 * SECTOR)), Grain::Absent]);
    assert!(Case::new(shorter).bytes().unwrap_err().message().contains("decompress"));
}

/// Checks an extent beside its descriptor: errors name the extent.
fn check_extent(file: &[u8], case: fn(Vec<u8>) -> Case, rows: &[Row]) {
    for (what, error) in check_changed_files(file, &case, &whole(), rows) {
        assert!(error.message().contains(EXTENT) || error.kind == Limit, "{what}: {error}");
    }
}

fn cowd() {
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("version", &[(4, &le32(2))], Fails(Unsupported, "In 'x.vmdk'")),
        ("a smaller capacity", &[(12, &le32(40))], Fails(Corrupt, "bytes, but the descriptor states")),
        ("grain", &[(16, &le32(0))], Fails(Corrupt, "grain size")),
        ("directory", &[(20, &le32(1 << 20))], Fails(Corrupt, "the grain directory")),
        ("directory's size", &[(24, &le32(0))], Fails(Corrupt, "too small")),
        ("table", &[(4 * SECTOR, &le32(1 << 20))], Fails(Corrupt, "a grain table")),
        ("a grain in the header", &[(5 * SECTOR, &le32(1))], Fails(Corrupt, "grain table is invalid")),
    ];
    check_extent(&vmdk::cowd(64, 8, &few_grains()), over_cowd, rows);
}

fn sesparse() {
    let entry = SE_TABLES;
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("version", &[(8, &le64(1))], Fails(Unsupported, "version 0x1 of SESparse")),
        ("grain", &[(24, &le64(16))], Fails(Unsupported, "grains of 16")),
        ("flags", &[(40, &le64(1))], Fails(Unsupported, "flags 0x1")),
        ("capacity", &[(16, &le64(1 << 60))], Fails(Limit, "2^53")),
        ("a smaller capacity", &[(16, &le64(40))], Fails(Corrupt, "states 32768 bytes (at byte 16 of the file)")),
        ("volatile header", &[(SE_VOLATILE, &le64(1))], Fails(Corrupt, "volatile header")),
        ("its position", &[(80, &le64(u64::MAX))], Fails(Corrupt, "impossible position")),
        ("journal", &[(SE_VOLATILE + 24, &le64(1))], Fails(Unsupported, "journal")),
        ("directory's size", &[(136, &le64(0))], Fails(Corrupt, "too small")),
        ("a directory entry", &[(SE_DIRECTORY, &le64(1))], Fails(Corrupt, "directory is invalid")),
        ("a table after the end", &[(SE_DIRECTORY, &le64(0x1000_0000 << 32 | 9))], Fails(Corrupt, "table")),
        ("an entry of no kind", &[(entry, &le64(1))], Fails(Corrupt, "grain table is invalid")),
        ("an entry of another kind", &[(entry, &le64(4 << 60))], Fails(Corrupt, "grain table is invalid")),
        ("a grain after the end", &[(entry, &le64(3 << 60 | 9 << 48))], Fails(Corrupt, "a grain is at")),
        ("a grain beyond all", &[(entry, &le64(3 << 60 | 0xffff_ffff_ffff))], Fails(Corrupt, "invalid")),
    ];
    check_extent(&vmdk::sesparse(64, &few_grains()), over_sesparse, rows);
}
