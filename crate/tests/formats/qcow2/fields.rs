//! qcow2 images with one changed field.

use crate::common::small::*;
use crate::common::table::Reads::{Bytes, Fails, Same};
use crate::common::table::{Row, check_changes};
use crate::common::*;
use decant::ErrorKind::*;

pub fn check() {
    header_and_tables();
    larger_clusters();
    extended_l2();
    data_files();
    snapshots();
}

fn be32(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

fn be64(value: u64) -> [u8; 8] {
    value.to_be_bytes()
}

fn header_and_tables() {
    let empty = vec![0; 8 * CLUSTER];
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(0, b"QFJ")], Fails(NotRecognised, "not in a known disk image format")),
        ("version 0", &[(4, &be32(0))], Fails(Unsupported, "version 0")),
        ("version 1", &[(4, &be32(1))], Fails(Unsupported, "version 1")),
        ("version 4", &[(4, &be32(4))], Fails(Unsupported, "version 4")),
        ("version huge", &[(4, &be32(u32::MAX))], Fails(Unsupported, "version 4294967295")),
        ("version 2", &[(4, &be32(2)), (72, &[0; 40])], Same),
        ("backing file", &[(8, &be64(200)), (16, &be32(8)), (200, b"base.img")], Fails(MissingFile, "'base.img'")),
        ("backing name of no length", &[(8, &be64(200)), (16, &be32(0))], Same),
        ("backing name without an offset", &[(16, &be32(8))], Same),
        ("backing name that begins with a zero", &[(8, &be64(200)), (16, &be32(8))], Same),
        ("backing name outside", &[(8, &be64(510)), (16, &be32(8))], Fails(Corrupt, "name")),
        ("backing name too long", &[(8, &be64(200)), (16, &be32(1024))], Fails(Corrupt, "name")),
        ("backing name far away", &[(8, &be64(1 << 60)), (16, &be32(u32::MAX))], Fails(Corrupt, "name")),
        ("backing name at 2^64", &[(8, &be64(u64::MAX)), (16, &be32(2))], Fails(Corrupt, "name")),
        ("cluster_bits 0", &[(20, &be32(0))], Fails(Corrupt, "cluster_bits")),
        ("cluster_bits 8", &[(20, &be32(8))], Fails(Corrupt, "cluster_bits")),
        ("cluster_bits 22", &[(20, &be32(22))], Fails(Corrupt, "cluster_bits")),
        ("cluster_bits 63", &[(20, &be32(63))], Fails(Corrupt, "cluster_bits")),
        ("cluster_bits huge", &[(20, &be32(u32::MAX))], Fails(Corrupt, "cluster_bits")),
        ("cluster_bits larger than the file", &[(20, &be32(21))], Fails(Corrupt, "L1 table is not aligned")),
        ("size above the L1 table", &[(24, &be64(1 << 20))], Fails(Corrupt, "L1 table has 1 entries")),
        ("size 2^53", &[(24, &be64(1 << 53))], Fails(Limit, "2^53")),
        ("size near 2^63", &[(24, &be64(i64::MAX as u64))], Fails(Limit, "2^53")),
        ("size 2^64-1", &[(24, &be64(u64::MAX))], Fails(Limit, "2^53")),
        ("AES", &[(32, &be32(1))], Fails(Password, "is encrypted")),
        ("LUKS without a header", &[(32, &be32(2))], Fails(Corrupt, "LUKS header")),
        ("encryption 3", &[(32, &be32(3))], Fails(Unsupported, "encryption method 3")),
        ("encryption huge", &[(32, &be32(u32::MAX))], Fails(Unsupported, "encryption method")),
        ("no L1 entries", &[(36, &be32(0))], Fails(Corrupt, "L1 table has 0 entries")),
        ("more L1 entries than needed", &[(36, &be32(50))], Same),
        ("L1 of 32 MiB and one entry", &[(36, &be32((4 << 20) + 1))], Fails(Limit, "L1 table")),
        ("L1 too large", &[(36, &be32(u32::MAX))], Fails(Limit, "L1 table")),
        ("L1 unaligned", &[(40, &be64(513))], Fails(Corrupt, "L1 table is not aligned")),
        ("L1 past the end", &[(40, &be64(1 << 20))], Fails(Corrupt, "truncated")),
        ("L1 far away", &[(40, &be64(1 << 62))], Fails(Corrupt, "L1 table is far beyond the end")),
        ("L1 at the end", &[(40, &be64(END as u64))], Fails(Corrupt, "truncated")),
        ("L1 near 2^63", &[(40, &be64(1 << 63))], Fails(Corrupt, "L1 table")),
        ("L1 near 2^64", &[(40, &be64(u64::MAX - 511))], Fails(Corrupt, "L1 table")),
        ("L1 at the header", &[(40, &be64(0))], Fails(Corrupt, "an L2 table is far beyond the end")),
        ("refcount table", &[(48, &be64(u64::MAX)), (56, &be32(u32::MAX))], Same),
        ("snapshots past the end", &[(60, &be32(1)), (64, &be64(1 << 30))], Fails(Corrupt, "snapshot")),
        ("snapshots near 2^64", &[(60, &be32(1)), (64, &be64(u64::MAX - 511))], Fails(Corrupt, "snapshot")),
        ("snapshots unaligned", &[(60, &be32(1)), (64, &be64(3))], Fails(Corrupt, "snapshot")),
        ("too many snapshots", &[(60, &be32(65_537)), (64, &be64(512))], Fails(Limit, "65537")),
        ("snapshots huge", &[(60, &be32(u32::MAX)), (64, &be64(512))], Fails(Limit, "4294967295")),
        ("snapshot table without snapshots", &[(64, &be64(3))], Same),
        ("dirty", &[(79, &[1])], Same),
        ("corrupt bit", &[(79, &[2])], Same),
        ("dirty and corrupt", &[(79, &[3])], Same),
        ("data file without a name", &[(79, &[4])], Fails(Unsupported, "external data file")),
        ("zstd without compressed clusters", &[(79, &[8]), (100, &be32(112)), (104, &[1])], Same),
        ("compression 2", &[(79, &[8]), (100, &be32(112)), (104, &[2])], Fails(Unsupported, "compression type 2")),
        ("compression 255", &[(79, &[8]), (100, &be32(112)), (104, &[255])], Fails(Unsupported, "type 255")),
        ("compression bit alone", &[(79, &[8])], Fails(Corrupt, "compression type")),
        ("compression type alone", &[(100, &be32(112)), (104, &[1])], Fails(Corrupt, "compression type")),
        ("extended L2 in small clusters", &[(79, &[16])], Fails(Corrupt, "extended L2")),
        ("unknown feature 5", &[(79, &[32])], Fails(Unsupported, "bit 5")),
        ("unknown feature 63", &[(72, &[128])], Fails(Unsupported, "bit 63")),
        ("unknown compatible feature", &[(87, &[0xfe])], Same),
        ("unknown autoclear feature", &[(95, &[0xff])], Same),
        ("refcount order 6", &[(99, &[6])], Same),
        ("refcount order 7", &[(99, &[7])], Fails(Corrupt, "refcount order")),
        ("refcount order huge", &[(96, &be32(u32::MAX))], Fails(Corrupt, "refcount order")),
        ("header length 0", &[(100, &be32(0))], Fails(Corrupt, "header length")),
        ("header length 100", &[(100, &be32(100))], Fails(Corrupt, "header length")),
        ("header length 513", &[(100, &be32(513))], Fails(Corrupt, "header length")),
        ("header length 512", &[(100, &be32(512))], Same),
        ("header length huge", &[(100, &be32(u32::MAX))], Fails(Corrupt, "header length")),
        ("unknown extension", &[(104, &be32(77)), (108, &be32(9))], Same),
        ("extension that fills the cluster", &[(104, &be32(77)), (108, &be32(400))], Same),
        ("extension one byte too long", &[(104, &be32(77)), (108, &be32(401))], Fails(Corrupt, "extension")),
        ("extension too long", &[(104, &be32(77)), (108, &be32(u32::MAX))], Fails(Corrupt, "extension")),
        ("LUKS pointer cut short", &[(104, &be32(0x0537_be77)), (108, &be32(8))], Fails(Corrupt, "encryption header")),
        (
            "LUKS pointer near 2^64",
            &[(104, &be32(0x0537_be77)), (108, &be32(16)), (112, &[0xff; 16])],
            Fails(Corrupt, "encryption header"),
        ),
        ("L1 entry: flags of no account", &[(L1, &[0xff])], Same),
        ("L1 entry: low bits of no account", &[(L1 + 6, &[0x05, 0xff])], Same),
        ("L1 entry empty", &[(L1, &[0; 8]), (L2, &[0; 16])], Bytes(empty.clone())),
        ("L2 past the end", &[(L1, &be64(1 << 40))], Fails(Corrupt, "truncated")),
        ("L2 that begins in the last cluster", &[(L1, &be64(END as u64))], Fails(Corrupt, "truncated")),
        ("the farthest possible L2 table", &[(L1, &be64(0x00ff_ffff_ffff_fe00))], Fails(Corrupt, "far beyond the end")),
        ("L2 at the header", &[(L1, &be64(1 << 63))], Bytes(empty)),
        ("L2 at the L1 table", &[(L1, &be64(L1 as u64))], Fails(Corrupt, "a table overlaps another part")),
        ("cluster past the end", &[(L2, &be64(1 << 40))], Fails(Corrupt, "truncated")),
        ("cluster half past the end", &[(L2, &be64(END as u64))], Fails(Corrupt, "truncated")),
        ("the farthest possible cluster", &[(L2, &be64(0x00ff_ffff_ffff_fe00))], Fails(Corrupt, "far beyond the end")),
        ("compressed past the end", &[(L2, &be64(COMPRESSED | 1 << 40))], Fails(Corrupt, "truncated")),
        ("compressed far past the end", &[(L2, &[0xff; 8])], Fails(Corrupt, "far beyond the end")),
        ("compressed noise", &[(L2, &be64(COMPRESSED | DATA as u64))], Fails(Corrupt, "does not decompress")),
        ("compressed header", &[(L2, &be64(COMPRESSED))], Fails(Corrupt, "is in a header or table")),
        ("L2 reserved bits", &[(L2, &be64(DATA as u64 | 0x3f00_0000_0000_01fe))], Same),
        ("L2 without the copied flag", &[(L2, &be64(DATA as u64))], Same),
        ("zero flag in version 2", &[(4, &be32(2)), (L2, &be64(1))], Fails(Corrupt, "zero cluster")),
    ];
    check_changes(&Case::new(small()), &small_disk(), rows);
}

fn larger_clusters() {
    // Clusters of 1 KiB over the same bytes: alignment to 512 bytes is not enough.
    let base = changed(small(), &[(20, &be32(10)), (24, &be64(1024)), (40, &be64(1024)), (1024, &be64(2048))]);
    let rows: &[Row] = &[
        ("L1 entry unaligned", &[(1024, &be64(0x600))], Fails(Corrupt, "L2 table")),
        ("L1 unaligned", &[(40, &be64(512))], Fails(Corrupt, "L1 table")),
        ("L2 table cut off", &[(1024, &be64(0x800))], Fails(Corrupt, "truncated")),
        ("cluster unaligned", &[(2048, &be64(0x600)), (3071, &[0])], Fails(Corrupt, "data cluster is not aligned")),
        ("snapshots unaligned", &[(60, &be32(1)), (64, &be64(512))], Fails(Corrupt, "snapshot")),
    ];
    check_changes(&Case::new(base), &[], rows);
}

fn extended_l2() {
    let bitmap = |zero: u32, allocated: u32| be64(u64::from(zero) << 32 | u64::from(allocated));
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("both bits", &[(BIG_L2 + 8, &bitmap(1, 1))], Fails(Corrupt, "both allocated and zero")),
        ("both bits of the last", &[(BIG_L2 + 8, &bitmap(1 << 31, 1 << 31 | 3))], Fails(Corrupt, "both")),
        ("allocated nowhere", &[(BIG_L2, &be64(0))], Fails(Corrupt, "no place in the file")),
        ("allocated nowhere, copied", &[(BIG_L2, &be64(1 << 63))], Fails(Corrupt, "no place in the file")),
        ("unaligned", &[(BIG_L2, &be64(BIG_DATA as u64 + 512))], Fails(Corrupt, "not aligned")),
        ("past the end", &[(BIG_L2, &be64(1 << 40))], Fails(Corrupt, "truncated")),
        ("the zero flag means nothing", &[(BIG_L2, &be64(BIG_DATA as u64 | 1))], Same),
        ("reserved bits", &[(BIG_L2, &be64(BIG_DATA as u64 | 0x3f00_0000_0000_01fe))], Same),
        ("zero subclusters without a place", &[(BIG_L2 + 16, &be64(0)), (BIG_L2 + 24, &bitmap(7, 0))], Same),
        ("zero subclusters past the end", &[(BIG_L2 + 16, &be64(1 << 40)), (BIG_L2 + 24, &bitmap(7, 0))], Same),
        ("nothing at a place past the end", &[(BIG_L2 + 16, &be64(1 << 40))], Same),
        ("compressed noise", &[(BIG_L2, &be64(COMPRESSED | BIG_DATA as u64))], Fails(Corrupt, "does not decompress")),
        ("cluster_bits 13", &[(20, &be32(13))], Fails(Corrupt, "extended L2")),
    ];
    check_changes(&Case::new(extended()), &extended_disk(), rows);
}

fn data_files() {
    let (mut first_cluster, mut without_first) = (small_disk(), small_disk());
    first_cluster[CLUSTER..].fill(0);
    without_first[..CLUSTER].fill(0);
    let base =
        Case { companions: vec![("data.raw".to_owned(), small_disk())], ..Case::new(with_data_file("data.raw")) };
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("another offset", &[(L2 + 8, &be64(2 * CLUSTER as u64))], Fails(Corrupt, "not the guest offset")),
        ("offset 0 elsewhere", &[(L2 + 8, &be64(1 << 63))], Fails(Corrupt, "not the guest offset")),
        ("offset 0 without the flag", &[(L2, &be64(0)), (L2 + 8, &be64(512))], Bytes(without_first)),
        ("compressed", &[(L2 + 8, &be64(COMPRESSED | 512))], Fails(Corrupt, "compressed")),
        ("past its end", &[(L2 + 56, &be64(7 * 512))], Same),
        ("a name of its own", &[(112, b"dota.raw")], Fails(MissingFile, "'dota.raw', the data file")),
        ("no name", &[(108, &[0; 12])], Fails(Unsupported, "does not tell")),
        ("zero", &[(L2 + 24, &be64(1))], Same),
    ];
    check_changes(&base, &small_disk(), rows);
    let short = Case { companions: vec![("data.raw".to_owned(), small_disk()[..700].to_vec())], ..base };
    let rows: &[Row] = &[
        ("the data file is cut", &[], Fails(Corrupt, "truncated")),
        ("the cut is not needed", &[(L2 + 8, &be64(0))], Bytes(first_cluster)),
    ];
    check_changes(&short, &small_disk(), rows);
}

fn snapshots() {
    let mut disk = vec![0; 4 * CLUSTER];
    disk[..CLUSTER].fill(0xbb);
    let base = Case { snapshot: Some("7".to_owned()), ..Case::new(with_snapshot()) };
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("L1 unaligned", &[(SNAPSHOTS, &be64(SNAPSHOT_L1 as u64 + 8))], Fails(Corrupt, "L1 table is not aligned")),
        ("L1 past the end", &[(SNAPSHOTS, &be64(1 << 40))], Fails(Corrupt, "truncated")),
        ("table past the end", &[(64, &be64(1 << 40))], Fails(Corrupt, "truncated")),
        ("table far away", &[(64, &be64(1 << 62))], Fails(Corrupt, "snapshot table has an impossible position")),
        ("L1 near 2^64", &[(SNAPSHOTS, &be64(u64::MAX - 511))], Fails(Corrupt, "L1 table")),
        ("no L1 entries", &[(SNAPSHOTS + 8, &be32(0))], Fails(Corrupt, "L1 table has 0 entries")),
        ("L1 huge", &[(SNAPSHOTS + 8, &be32(u32::MAX))], Fails(Limit, "L1 table")),
        ("an ID past the end", &[(SNAPSHOTS + 12, &[0xff, 0xff])], Fails(Corrupt, "snapshot")),
        ("a name past the end", &[(SNAPSHOTS + 14, &[0xff, 0xff])], Fails(Corrupt, "snapshot")),
        ("too much extra data", &[(SNAPSHOTS + 36, &be32(1025))], Fails(Corrupt, "extra data")),
        ("extra data huge", &[(SNAPSHOTS + 36, &be32(u32::MAX))], Fails(Corrupt, "extra data")),
        ("a size above its L1 table", &[(SNAPSHOTS + 48, &be64(1 << 20))], Fails(Corrupt, "L1 table")),
        ("a size near 2^63", &[(SNAPSHOTS + 48, &be64(i64::MAX as u64))], Fails(Limit, "2^53")),
        ("another ID", &[(SNAPSHOTS + 56, b"8")], Fails(Usage, "8 'then'")),
        ("the active L1 past the end", &[(40, &be64(1 << 40))], Same),
        ("state of the machine", &[(SNAPSHOTS + 40, &be64(u64::MAX))], Same),
    ];
    check_changes(&base, &disk, rows);
    let by_name = Case { snapshot: Some("then".to_owned()), ..base.clone() };
    assert_eq!(by_name.bytes().unwrap(), disk);
    // With less extra data, its size is not recorded: the active disk's size is used.
    let short = changed(
        base.image.clone(),
        &[(SNAPSHOTS + 36, &be32(8)), (SNAPSHOTS + 48, b"7then\0\0\0"), (SNAPSHOTS + 56, &[0; 8])],
    );
    assert_eq!(Case { image: short, ..base }.bytes().unwrap().len(), 8 * CLUSTER);
}
