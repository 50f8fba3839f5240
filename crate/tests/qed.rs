//! QED: cluster and table sizes, backing files, and damage.

use crate::common::qed::*;
use crate::common::small::{changed, overlay};
use crate::common::table::{Reads::*, Row, check_changes};
use crate::common::*;
use decant::ErrorKind::*;
use decant::damage::Lost;
use decant::format::qed::*;
use decant::target::Abilities;
use std::path::Path;

const JOBS: [u64; 3] = [512, 8 << 10, 4 << 20];

/// What `small` reads as with one of its clusters filled with `byte`.
fn filled<'a>(cluster: usize, byte: u8) -> crate::common::table::Reads<'a> {
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

fn check(case: &Case, disk: &[u8], what: &str) {
    for answers in ANSWERS {
        for job in JOBS {
            let converted = case.convert(answers, Abilities::default(), job);
            converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(*converted.target.bytes.borrow() == disk, "{what}: other bytes, {answers:?}, jobs of {job}");
        }
    }
}

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (base, top, raw) = (path("base"), path("top.qed"), path("disk.raw"));
    // Tables of one cluster, which the specification allows, qemu-img 7.2 makes but does not open: `small` has them.
    // (cluster and table size, the format of the backing file)
    let cases: &[(&str, Option<&str>)] = &[
        ("cluster_size=4096,table_size=2", None),
        ("cluster_size=4096,table_size=8", Some("raw")),
        ("cluster_size=64k,table_size=16", Some("qcow2")),
        ("cluster_size=8k,table_size=4", Some("qed")),
        ("cluster_size=1M,table_size=2", Some("vdi")),
    ];
    for (options, below) in cases {
        let mut create = vec!["create", "-q", "-f", "qed", "-o", options];
        if let Some(format) = below {
            qemu("qemu-img", &["create", "-q", "-f", format, text(&base), "5M"]);
            qemu("qemu-io", &["-f", format, "-c", "write -q -P 9 0 5M", text(&base)]);
            create.extend(["-b", text(&base), "-F", format]);
        }
        create.extend([text(&top), "7M"]);
        qemu("qemu-img", &create);
        let write = ["-c", "write -q -P 1 1M 1M", "-c", "write -q -P 2 6M 512", "-c", "write -q -z 4M 512k"];
        qemu("qemu-io", &[&write[..], &["-c", "write -q -P 3 100k 5k", text(&top)]].concat());
        let read = |path: &Path| std::fs::read(path).unwrap();
        let companions = below.iter().map(|_| (text(&base).to_owned(), read(&base))).collect();
        let case = Case { companions, ..Case::new(read(&top)) };
        check(&case, &qemu_reads(&top, &raw), options);
        // A format other than raw is not stated, but found by the content.
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let stated = below.map(|format| (format == "raw").then(|| format.to_owned()));
        assert_eq!(info.references.first().map(|reference| reference.format.clone()), stated, "{options}");
        assert_eq!(info.layers.get(1).map(|layer| layer.format), *below);
    }
}

#[test]
fn changed_fields() {
    const HUGE: u64 = (512 * 512 * CLUSTER) as u64;
    let mut itself = vec![0; 8 * CLUSTER - 512];
    itself[..8].copy_from_slice(&le64(L1 as u64));
    let name = |at: u32, len: u32| [le32(at), le32(len)].concat();
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(3, b"!")], Fails(NotRecognised, "no disk image format")),
        ("clusters of 0 bytes", &[(4, &le32(0))], Fails(Corrupt, "cluster size is 0")),
        ("clusters of 2048 bytes", &[(4, &le32(2048))], Fails(Corrupt, "cluster size is 2048")),
        ("clusters of 5000 bytes", &[(4, &le32(5000))], Fails(Corrupt, "cluster size is 5000")),
        ("clusters of 2^27 bytes", &[(4, &le32(1 << 27))], Fails(Corrupt, "cluster size is 134217728")),
        ("clusters of 2^26 bytes", &[(4, &le32(1 << 26))], Fails(Corrupt, "L1 table lies in the header or between")),
        ("tables of no clusters", &[(8, &le32(0))], Fails(Corrupt, "a table has 0 clusters")),
        ("tables of 3 clusters", &[(8, &le32(3))], Fails(Corrupt, "a table has 3 clusters")),
        ("tables of 4 clusters", &[(8, &le32(4))], Same),
        ("tables of 32 clusters", &[(8, &le32(32))], Fails(Corrupt, "a table has 32 clusters")),
        ("a header of no clusters", &[(12, &le32(0))], Same),
        ("a header over the L1 table", &[(12, &le32(2))], Fails(Corrupt, "L1 table lies in the header")),
        ("a header without end", &[(12, &le32(u32::MAX))], Fails(Corrupt, "L1 table lies in the header")),
        ("a check is needed", &[(16, &le64(2))], Same),
        ("a raw backing file, but none", &[(16, &le64(4))], Same),
        ("feature 3", &[(16, &le64(8))], Fails(Unsupported, "unknown feature of QED (bit 3)")),
        ("feature 63", &[(16, &le64(1 << 63))], Fails(Unsupported, "bit 63")),
        ("compatible features", &[(24, &[0xff; 16])], Same),
        ("L1 in the header", &[(40, &le64(0))], Fails(Corrupt, "L1 table lies in the header")),
        ("L1 between clusters", &[(40, &le64(4097))], Fails(Corrupt, "or between clusters")),
        ("L1 past the end", &[(40, &le64(1 << 40))], Fails(Corrupt, "truncated")),
        ("L1 near 2^64", &[(40, &le64(u64::MAX - 4095))], Fails(Corrupt, "truncated")),
        ("a disk of no size", &[(48, &le64(0)), (40, &le64(7))], Bytes(vec![])),
        ("a disk of 513 bytes", &[(48, &le64(513))], Fails(Corrupt, "no multiple of 512")),
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
        ("a name past the header", &[(16, &[1]), (56, &name(4093, 4))], Fails(Corrupt, "name lies outside")),
        ("a name of 1024 bytes", &[(16, &[1]), (56, &name(100, 1024))], Fails(Corrupt, "name lies outside")),
        ("a name near 2^32", &[(16, &[1]), (56, &[0xff; 8])], Fails(Corrupt, "name lies outside")),
        ("no L2 table", &[(L1, &le64(0))], Bytes(vec![0; 8 * CLUSTER - 512])),
        (
            "L2 of zeros, which there is not",
            &[(L1, &le64(1))],
            Fails(Corrupt, "L2 table lies in the header or between"),
        ),
        ("L2 in the header", &[(12, &le32(1)), (L1, &le64(2048))], Fails(Corrupt, "L2 table lies in the header")),
        ("L2 past the end", &[(L1, &le64(1 << 40))], Fails(Corrupt, "truncated")),
        ("L2 near 2^64", &[(L1, &le64(u64::MAX - 4095))], Fails(Corrupt, "truncated")),
        ("L2 at the L1 table", &[(L1, &le64(L1 as u64))], Bytes(itself)),
        ("an unallocated cluster", &[(L2, &le64(0))], filled(0, 0)),
        ("a zero cluster", &[(L2, &le64(1))], filled(0, 0)),
        (
            "reserved bits",
            &[(L2, &le64(DATA as u64 | 2))],
            Fails(Corrupt, "data cluster lies in the header or between"),
        ),
        ("the same cluster twice", &[(L2, &le64(MORE as u64))], filled(0, 0xbb)),
        ("the last cluster", &[(L2 + 48, &le64(MORE as u64))], filled(6, 0xbb)),
        ("a cluster at the end", &[(L2, &le64(END as u64))], Fails(Corrupt, "truncated")),
        ("a cluster near 2^64", &[(L2, &le64(u64::MAX - 4095))], Fails(Corrupt, "truncated")),
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

#[test]
fn a_backing_file() {
    let over = |flags: u8| changed(small(), &[(16, &[flags]), (56, &le32(100)), (60, &le32(4)), (100, b"base")]);
    let below: Vec<u8> = (0..5 * CLUSTER).map(|at| (at / 512) as u8 | 1).collect();
    let mut disk = below.clone();
    disk.resize(small_disk().len(), 0);
    for (at, byte) in small_disk().into_iter().enumerate().filter(|(at, _)| [0, 1, 3, 7].contains(&(at / CLUSTER))) {
        disk[at] = byte;
    }
    check(&Case { companions: vec![("base".to_owned(), below)], ..Case::new(over(1)) }, &disk, "raw by default");
    // What is said to be raw is not probed.
    let below = small();
    let case = |flags| Case { companions: vec![("base".to_owned(), below.clone())], ..Case::new(over(flags)) };
    assert_eq!(case(5).bytes().unwrap()[2 * CLUSTER..3 * CLUSTER], below[2 * CLUSTER..3 * CLUSTER]);
    assert!(case(1).bytes().unwrap() == small_disk());
    let qcow2 = Case { companions: vec![("base".to_owned(), small())], ..Case::new(overlay("base", Some("qed"))) };
    assert_eq!(qcow2.bytes().unwrap()[512..], small_disk()[512..8 * 512]);
}

fn salvage(image: Vec<u8>) -> (Vec<u8>, Vec<Lost>) {
    let case = Case { salvage: true, ..Case::new(image) };
    let converted = case.convert(Answers::Reverse, Abilities::default(), 4096);
    converted.result.unwrap();
    (converted.target.bytes.take(), converted.lost.listed)
}

#[test]
fn damage_costs_its_range_only() {
    let size = small_disk().len() as u64;
    let cluster = CLUSTER as u64;
    let lost = |start, len, damage| Lost { start, len, damage };
    let patched = |at: usize, value: u64| changed(small(), &[(at, &le64(value))]);
    let cases = [
        (small(), vec![]),
        (patched(40, 1 << 30), vec![lost(0, size, L1_TRUNCATED)]),
        (patched(L1, 1 << 30), vec![lost(0, size, L2_TRUNCATED)]),
        (patched(L1, 5), vec![lost(0, size, L2_MISPLACED)]),
        (patched(L2, 7), vec![lost(0, cluster, CLUSTER_MISPLACED)]),
        (patched(L2 + 8, 1 << 30), vec![lost(cluster, cluster, CLUSTER_TRUNCATED)]),
        (small()[..END - 600].to_vec(), vec![lost(2 * cluster - 1024, 1024, CLUSTER_TRUNCATED)]),
        (
            small()[..L2 + 17].to_vec(),
            vec![lost(0, 2 * cluster, CLUSTER_TRUNCATED), lost(2 * cluster, size - 2 * cluster, L2_TRUNCATED)],
        ),
    ];
    for (number, (image, expected)) in cases.into_iter().enumerate() {
        let (disk, lost) = salvage(image);
        assert_eq!(lost, expected, "case {number}");
        for (at, byte) in disk.into_iter().enumerate() {
            let is_lost = lost.iter().any(|lost| (lost.start..lost.end()).contains(&(at as u64)));
            assert_eq!(byte, if is_lost { 0 } else { small_disk()[at] }, "case {number} at {at}");
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    for len in 0..END {
        let error = Case::new(small()[..len].to_vec()).bytes().unwrap_err();
        let is_noticed = error.kind == Corrupt && error.message.contains("truncated");
        assert!(if len < 4 { error.kind == NotRecognised } else { is_noticed }, "{len}: {error}");
    }
}

#[test]
fn tables_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qed");
    qemu("qemu-img", &["create", "-q", "-f", "qed", "-o", "cluster_size=64k,table_size=16", text(&path), "100G"]);
    qemu("qemu-io", &["-c", "write -q -P 1 1G 64k", "-c", "write -q -P 2 90G 1M", text(&path)]);
    let source = HeldSource::new(std::fs::read(&path).unwrap());
    let extents = source.extents();
    assert_eq!(extents.iter().filter(|extent| extent.has_data()).map(|extent| extent.len).sum::<u64>(), 17 << 16);
    // The L1 table in one read, two L2 tables of 1 MiB in parts of 64 KiB.
    let reads = source.reads.borrow();
    assert!(reads.len() <= 40, "{reads:?}");
    assert!(reads.iter().map(|(_, len)| len).sum::<u64>() < (2 << 20) + (64 << 10), "{reads:?}");
}
