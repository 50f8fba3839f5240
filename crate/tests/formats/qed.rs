//! QED for the suite.

use super::{Extreme, Format, Listing, Sample};
use crate::common::qed::*;
use crate::common::salvage::check_damage;
use crate::common::small::changed;
use crate::common::table::Reads::{self, *};
use crate::common::table::{Row, check_changes};
use crate::common::*;
use decant::ErrorKind::*;
use decant::disk::losses::Lost;
use decant::format::qed::*;
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "qed", samples, fields, damage, listings, extremes };

fn samples() -> Vec<Sample> {
    vec![Sample {
        salvaged: 64..usize::MAX,
        tables: vec![0..64, L1..L1 + 8, L2..L2 + 64],
        ..Sample::new("the smallest one", small(), small_disk())
    }]
}

/// The disk of `small` with one of its clusters filled with `byte`.
fn filled<'a>(cluster: usize, byte: u8) -> Reads<'a> {
    let mut disk = small_disk();
    disk[cluster * CLUSTER..(cluster + 1) * CLUSTER].fill(byte);
    Bytes(disk)
}

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

fn fields() {
    const HUGE: u64 = (512 * 512 * CLUSTER) as u64;
    let name = |at: u32, len: u32| [le32(at), le32(len)].concat();
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(3, b"!")], Fails(NotRecognised, "not in a known disk image format")),
        ("clusters of 0 bytes", &[(4, &le32(0))], Fails(Corrupt, "cluster size is 0")),
        ("clusters of 2048 bytes", &[(4, &le32(2048))], Fails(Corrupt, "cluster size is 2048")),
        ("clusters of 5000 bytes", &[(4, &le32(5000))], Fails(Corrupt, "cluster size is 5000")),
        ("clusters of 2^27 bytes", &[(4, &le32(1 << 27))], Fails(Corrupt, "cluster size is 134217728")),
        ("clusters of 2^26 bytes", &[(4, &le32(1 << 26))], Fails(Corrupt, "L1 table is in the header or not aligned")),
        ("tables of no clusters", &[(8, &le32(0))], Fails(Corrupt, "a table has 0 clusters")),
        ("tables of 3 clusters", &[(8, &le32(3))], Fails(Corrupt, "a table has 3 clusters")),
        ("tables of 4 clusters", &[(8, &le32(4))], Same),
        ("tables of 32 clusters", &[(8, &le32(32))], Fails(Corrupt, "a table has 32 clusters")),
        ("a header of no clusters", &[(12, &le32(0))], Same),
        ("a header over the L1 table", &[(12, &le32(2))], Fails(Corrupt, "L1 table is in the header")),
        ("a header without end", &[(12, &le32(u32::MAX))], Fails(Corrupt, "L1 table is in the header")),
        ("a check is needed", &[(16, &le64(2))], Same),
        ("a raw backing file, but none", &[(16, &le64(4))], Same),
        ("feature 3", &[(16, &le64(8))], Fails(Unsupported, "unknown feature of QED (bit 3)")),
        ("feature 63", &[(16, &le64(1 << 63))], Fails(Unsupported, "bit 63")),
        ("compatible features", &[(24, &[0xff; 16])], Same),
        ("L1 in the header", &[(40, &le64(0))], Fails(Corrupt, "L1 table is in the header")),
        ("L1 between clusters", &[(40, &le64(4097))], Fails(Corrupt, "or not aligned to a cluster")),
        ("L1 past the end", &[(40, &le64(1 << 40))], Fails(Corrupt, "truncated")),
        ("L1 near 2^64", &[(40, &le64(u64::MAX - 4095))], Fails(Corrupt, "L1 table is far beyond the end")),
        ("a disk of no size", &[(48, &le64(0)), (40, &le64(7))], Bytes(vec![])),
        ("a disk of 513 bytes", &[(48, &le64(513))], Fails(Corrupt, "not a multiple of 512")),
        ("a disk of one sector", &[(48, &le64(512))], Bytes(vec![0xaa; 512])),
        ("a disk too large for its tables", &[(48, &le64(HUGE + 512))], Fails(Corrupt, "more than the L1 table")),
        ("a disk of 2^53 bytes", &[(48, &le64(1 << 53))], Fails(Limit, "2^53-1")),
        ("a disk of 2^64-512 bytes", &[(48, &le64(u64::MAX - 511))], Fails(Limit, "2^53-1")),
        ("a name but no backing file", &[(56, &name(100, 4)), (100, b"base")], Same),
        (
            "a backing file",
            &[(16, &[1]), (56, &name(100, 4)), (100, b"base")],
            Fails(MissingFile, "'base', the backing"),
        ),
        ("an empty name", &[(16, &[1]), (56, &name(100, 0))], Same),
        ("a name that begins with a zero", &[(16, &[1]), (56, &name(100, 4))], Same),
        (
            "a name at the header's end",
            &[(16, &[1]), (56, &name(4092, 4)), (4092, b"base")],
            Fails(MissingFile, "'base'"),
        ),
        ("a name past the header", &[(16, &[1]), (56, &name(4093, 4))], Fails(Corrupt, "name is outside")),
        ("a name of 1024 bytes", &[(16, &[1]), (56, &name(100, 1024))], Fails(Corrupt, "name is outside")),
        ("a name near 2^32", &[(16, &[1]), (56, &[0xff; 8])], Fails(Corrupt, "name is outside")),
        ("no L2 table", &[(L1, &le64(0))], Bytes(vec![0; 8 * CLUSTER - 512])),
        (
            "L2 of zeros, which there is not",
            &[(L1, &le64(1))],
            Fails(Corrupt, "L2 table is in the header or not aligned"),
        ),
        ("L2 in the header", &[(12, &le32(1)), (L1, &le64(2048))], Fails(Corrupt, "L2 table is in the header")),
        ("L2 past the end", &[(L1, &le64(1 << 40))], Fails(Corrupt, "truncated")),
        ("L2 near 2^64", &[(L1, &le64(u64::MAX - 4095))], Fails(Corrupt, "far beyond the end")),
        ("L2 at the L1 table", &[(L1, &le64(L1 as u64))], Fails(Corrupt, "a table overlaps another part")),
        ("an unallocated cluster", &[(L2, &le64(0))], filled(0, 0)),
        ("a zero cluster", &[(L2, &le64(1))], filled(0, 0)),
        (
            "reserved bits",
            &[(L2, &le64(DATA as u64 | 2))],
            Fails(Corrupt, "data cluster is in the header or not aligned"),
        ),
        ("the same cluster twice", &[(L2, &le64(MORE as u64))], filled(0, 0xbb)),
        ("the last cluster", &[(L2 + 48, &le64(MORE as u64))], filled(6, 0xbb)),
        ("a cluster at the end", &[(L2, &le64(END as u64))], Fails(Corrupt, "truncated")),
        ("a cluster near 2^64", &[(L2, &le64(u64::MAX - 4095))], Fails(Corrupt, "far beyond the end")),
        ("what follows", &[(END, &[1; 100])], Same),
    ];
    check_changes(&Case::new(small()), &small_disk(), rows);
    let features = |patch: &[u8]| {
        let case = Case::new(changed(small(), &[(16, patch)]));
        case.with(Answers::InOrder, |image| async move { Ok(image.info().features) }).unwrap()
    };
    assert_eq!(features(&[2]), ["dirty"]);
    assert_eq!(features(&[0, 0, 0, 0, 0, 0, 0, 0, 1]), ["unknown compatible features"]);
}

fn damage() {
    let size = small_disk().len() as u64;
    let cluster = CLUSTER as u64;
    let lost = |start, len, damage| Lost { start: GuestOffset(start), len, damage };
    let patched = |at: usize, value: u64| changed(small(), &[(at, &le64(value))]);
    let cut = |len: usize| small()[..len].to_vec();
    let rows = [
        ("nothing", small(), vec![]),
        ("the L1 table", patched(40, 1 << 30), vec![lost(0, size, L1_TRUNCATED)]),
        ("the L2 table", patched(L1, 1 << 30), vec![lost(0, size, L2_TRUNCATED)]),
        ("where the L2 table is", patched(L1, 5), vec![lost(0, size, L2_MISPLACED)]),
        ("the L2 table, far away", patched(L1, 1 << 41), vec![lost(0, size, L2_OUTSIDE)]),
        ("a cluster, far away", patched(L2 + 8, 1 << 41), vec![lost(cluster, cluster, CLUSTER_OUTSIDE)]),
        ("where a cluster is", patched(L2, 7), vec![lost(0, cluster, CLUSTER_MISPLACED)]),
        ("a cluster", patched(L2 + 8, 1 << 30), vec![lost(cluster, cluster, CLUSTER_TRUNCATED)]),
        ("a part of a cluster", cut(END - 600), vec![lost(2 * cluster - 1024, 1024, CLUSTER_TRUNCATED)]),
        (
            "a part of the L2 table",
            cut(L2 + 17),
            vec![lost(0, 2 * cluster, CLUSTER_TRUNCATED), lost(2 * cluster, size - 2 * cluster, L2_TRUNCATED)],
        ),
    ];
    for (what, image, lost) in rows {
        check_damage(what, &Case::new(image), &small_disk(), &lost);
    }
}

fn listings() -> Vec<Listing> {
    const TABLE: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qed");
    qemu("qemu-img", &["create", "-q", "-f", "qed", "-o", "cluster_size=64k,table_size=16", text(&path), "100G"]);
    qemu("qemu-io", &["-c", "write -q -P 1 1G 64k", "-c", "write -q -P 2 90G 1M", text(&path)]);
    vec![Listing {
        what: "two L2 tables of 1 MiB",
        file: std::fs::read(&path).unwrap(),
        data: 17 << 16,
        most_extents: 16,
        tables: Vec::new(),
        // The L1 table in one read, two L2 tables of 1 MiB in parts of 64 KiB.
        most_reads: 40,
        most_bytes: 2 * TABLE + (64 << 10) - 1,
    }]
}

/// Images whose L1 table is after the end of the file.
fn extremes() -> Vec<Extreme> {
    const LARGEST: u64 = (1 << 53) - 512;
    // Clusters of 64 MiB, tables of 16 clusters.
    let sized = |size: u64| {
        changed(
            small()[..CLUSTER].to_vec(),
            &[(4, &(1u32 << 26).to_le_bytes()), (8, &[16]), (40, &le64(1 << 40)), (48, &le64(size))],
        )
    };
    vec![
        Extreme { what: "no bytes", file: sized(0), size: Ok(0) },
        Extreme { what: "a sector", file: sized(512), size: Ok(512) },
        Extreme { what: "the largest disk", file: sized(LARGEST), size: Ok(LARGEST) },
        Extreme { what: "a disk of 2^53 bytes", file: sized(1 << 53), size: Err(Limit) },
        Extreme { what: "a disk of 2^64-512 bytes", file: sized(u64::MAX - 511), size: Err(Limit) },
    ]
}
