//! Images of every version, cluster size and cluster kind, compared with `qemu-img convert`.

use crate::common::*;
use decant::io::target::{Abilities, Holes};
use std::path::Path;

/// Maximum job sizes: smaller than a block, smaller than a cluster, and larger than most images here.
const JOBS: [u64; 3] = [512, 8 << 10, 4 << 20];

const KINDS: [Abilities; 6] = [
    Abilities { ascending: false, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Skip, short_hole: 64 << 10, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Report, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: false, holes: Holes::WriteZeros, short_hole: 64 << 10, late_start: u64::MAX },
];

/// Writes clusters of every kind: whole and partial data, data that is zero, zero clusters with and
/// without a stale host offset, discarded ones, compressed ones, and the last bytes of the disk.
fn fill(image: &Path, cluster: u64, size: u64) {
    let mut commands = vec![
        format!("write -P 0x11 0 {cluster}"),
        format!("write -P 0x22 {} {cluster}", cluster + cluster / 2),
        format!("write -P 0 {} {cluster}", 4 * cluster),
        format!("write -P 0x33 {} {}", 6 * cluster, 3 * cluster),
        format!("write -z {} {cluster}", 7 * cluster),
        format!("write -z -u {} {cluster}", 10 * cluster),
        format!("write -P 0x44 {} {}", 12 * cluster, 2 * cluster),
        format!("discard {} {cluster}", 12 * cluster),
        format!("write -P 0x77 {} 512", 20 * cluster + 512 * 3 % cluster),
        format!("write -P 0x66 {} {}", size - 1024, 1024),
    ];
    for at in 14..18 {
        commands.push(format!("write -c -P {} {} {cluster}", 0x50 + at, at * cluster));
    }
    let mut args = vec!["-f", "qcow2"];
    for command in &commands {
        args.extend(["-c", command]);
    }
    args.push(text(image));
    qemu("qemu-io", &args);
}

/// A way to convert an image.
type Way = (Answers, Abilities, u64);

/// All ways; in the scope `short` a ninth of them for each image: nine consecutive images cover all.
fn ways(row: usize) -> Vec<Way> {
    let mut ways = Vec::new();
    for answers in ANSWERS {
        for kind in KINDS {
            ways.extend(JOBS.map(|job| (answers, kind, job)));
        }
    }
    by_scope(ways.iter().copied().skip(row % 9).step_by(9).collect(), ways.clone(), ways)
}

/// Converts an image of that version, cluster size and size in each of `ways`.
fn check_row(version: &str, cluster: u64, size: u64, ways: Vec<Way>) {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    let options = format!("compat={version},cluster_size={cluster}");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", &options, text(&path), &size.to_string()]);
    fill(&path, cluster, size);
    let expected = qemu_reads(&path, &raw);
    let image = std::fs::read(&path).unwrap();
    for (answers, kind, job) in ways {
        let name = format!("{version} {cluster} {size} {answers:?} {kind:?} {job}");
        let converted = convert_bytes(image.clone(), None, answers, kind, job);
        assert_eq!(converted.result.map(|done| done.guest_done), Ok(size), "{name}");
        assert!(*converted.target.bytes.borrow() == expected, "{name}: other bytes");
        assert!(converted.target.finished.get(), "{name}");
    }
}

#[test]
fn bytes_are_those_of_qemu_img() {
    let bits: Vec<u32> = by_scope(vec![9, 12, 16, 21], vec![9, 12, 16, 21], (9..=21).collect());
    let mut rows = Vec::new();
    for version in ["0.10", "1.1"] {
        for &bits in &bits {
            let cluster = 1 << bits;
            // The sizes: 24 clusters, and some sectors more, so that the disk ends inside a cluster and a block.
            rows.extend([0, 1, 7, 13].map(|beyond| (version, cluster, 24 * cluster + beyond * 512)));
        }
    }
    // Cycles through versions, cluster sizes and sizes.
    rows = by_scope(rows.iter().copied().step_by(3).collect(), rows.clone(), rows);
    two_at_once(rows.len(), |number| {
        let (version, cluster, size) = rows[number];
        check_row(version, cluster, size, ways(number));
    });
}

#[test]
fn data_that_is_zero_stays_a_hole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    // One block of data in each 16 KiB, in clusters of 64 KiB, stored and compressed.
    std::fs::write(&raw, {
        let mut disk = vec![0; 4 << 20];
        disk.chunks_mut(16 << 10).for_each(|part| part[5000] = 1);
        disk
    })
    .unwrap();
    for options in [&[][..], &["-c"]] {
        let mut args = vec!["convert", "-f", "raw", "-O", "qcow2"];
        args.extend(options);
        args.extend([text(&raw), text(&path)]);
        qemu("qemu-img", &args);
        let image = std::fs::read(&path).unwrap();
        let sparse = convert_bytes(image.clone(), None, Answers::InOrder, KINDS[0], 1 << 20);
        assert_eq!(sparse.target.data_bytes.get(), 256 * 4096);
        assert_eq!(sparse.result.unwrap().written, 256 * 4096);
        // Short holes may be filled, within 10 % of that.
        let filled = convert_bytes(image, None, Answers::InOrder, KINDS[2], 1 << 20);
        assert!(filled.target.data_bytes.get() <= 256 * 4096 * 11 / 10);
    }
}

#[test]
fn a_raw_file_is_read_when_it_is_said_to_be_one() {
    // (length, virtual size): whole sectors, as in QEMU
    for (len, size) in [(0u64, 0u64), (1, 512), (512, 512), (100_000, 100_352), (4 << 20, 4 << 20)] {
        let file: Vec<u8> = (0..len).map(|at| if at / 4096 % 3 == 1 { 0 } else { at as u8 | 1 }).collect();
        for kind in KINDS {
            let converted = convert_bytes(file.clone(), Some("raw"), Answers::Reverse, kind, 64 << 10);
            assert_eq!(converted.result.unwrap().guest_total, Some(size));
            let disk = converted.target.bytes.borrow();
            assert!(
                disk[..len as usize] == file[..] && disk[len as usize..].iter().all(|&byte| byte == 0),
                "{len} {kind:?}"
            );
        }
    }
}
