//! Which ranges are read: few, large, and no metadata twice.

use crate::common::*;
use decant::target::Abilities;
use std::collections::HashMap;

fn word(image: &[u8], at: u64) -> u64 {
    u64::from_be_bytes(image[at as usize..at as usize + 8].try_into().unwrap())
}

/// Where the L2 tables of an image with clusters of `cluster` bytes lie.
fn l2_tables(image: &[u8]) -> Vec<u64> {
    let (entries, table) = (word(image, 32) & 0xffff_ffff, word(image, 40));
    (0..entries).map(|at| word(image, table + at * 8) & 0x00ff_ffff_ffff_fe00).filter(|&host| host != 0).collect()
}

#[test]
fn each_l2_table_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    // 4 KiB clusters: an L2 table describes 2 MiB, so there are 16.
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=4k", text(&path), "64M"]);
    for at in (0..64).step_by(4) {
        qemu("qemu-io", &["-c", &format!("write -q -P {at} {at}M 300k"), text(&path)]);
    }
    let image = std::fs::read(&path).unwrap();
    let tables = l2_tables(&image);
    assert_eq!(tables.len(), 16);
    for answers in ANSWERS {
        let converted = convert_bytes(image.clone(), None, answers, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let mut times: HashMap<u64, usize> = HashMap::new();
        for &(start, len) in converted.source.reads.borrow().iter() {
            for &table in tables.iter().filter(|&&table| start <= table && table < start + len) {
                *times.entry(table).or_default() += 1;
            }
        }
        // A data read may pass over a table that lies between two clusters; no table is read twice
        // for its own sake.
        let own = converted
            .source
            .reads
            .borrow()
            .iter()
            .filter(|&&(start, len)| tables.contains(&start) && len % 4096 == 0 && len <= 16 * 4096)
            .count();
        assert!(own <= tables.len(), "{answers:?}: {own} reads of L2 tables");
        assert!(tables.iter().all(|table| times.contains_key(table)), "{answers:?}: a table was never read");
    }
}

#[test]
fn an_empty_image_needs_a_handful_of_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&path), "100G"]);
    let source = HeldSource::new(std::fs::read(&path).unwrap());
    let extents = source.extents();
    assert_eq!(extents.len(), 1);
    assert_eq!(extents[0].len, 100 << 30);
    let reads = source.reads.borrow();
    assert!(reads.len() <= 4, "{reads:?}");
}

#[test]
fn neighbours_are_read_at_once_and_reads_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, path) = (folder.path().join("disk.raw"), folder.path().join("image.qcow2"));
    let mut state = 1u32;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    // Half noise, so that it compresses to about half.
    let disk: Vec<u8> = (0..8 << 20).map(|at| if at % 2 == 0 { noise() } else { 1 }).collect();
    std::fs::write(&raw, &disk).unwrap();
    for compressed in [false, true] {
        let mut args = vec!["convert", "-f", "raw", "-O", "qcow2", text(&raw), text(&path)];
        if compressed {
            args.insert(1, "-c");
        }
        qemu("qemu-img", &args);
        let image = std::fs::read(&path).unwrap();
        let converted = convert_bytes(image, None, Answers::OneAtATime, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        assert!(*converted.target.bytes.borrow() == disk);
        let data_reads = converted.source.reads.borrow().iter().filter(|&&(_, len)| len > 200_000).count();
        // 8 MiB in jobs of 1 MiB; nothing of them is read in small parts.
        assert!((8..=9).contains(&data_reads), "{data_reads} reads of data");
        assert!(converted.source.reads.borrow().len() <= data_reads + 6);
        assert_eq!(converted.source.most_waiting.get(), 4, "reads ahead");
    }
}
