//! Data is read in few, large ranges.

use crate::common::*;
use decant::io::target::Abilities;

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
        // 8 MiB in jobs of 1 MiB, none of them in small parts.
        assert!((8..=9).contains(&data_reads), "{data_reads} reads of data");
        assert!(converted.source.reads.borrow().len() <= data_reads + 6);
        assert_eq!(converted.source.most_waiting.get(), 4, "reads ahead");
    }
}
