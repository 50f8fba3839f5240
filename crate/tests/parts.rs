//! Reads of parts of the disk.

use crate::common::*;
use decant::ErrorKind;
use decant::convert::read;
use decant::offsets::GuestRange;
use std::path::Path;

const MIB: u64 = 1 << 20;

fn part(case: &Case, answers: Answers, start: u64, end: u64) -> decant::Result<Vec<u8>> {
    case.with(answers, move |image| async move { read(&image, GuestRange::from(start..end)).await })
}

/// Ranges that begin and end around boundaries of every kind.
fn ranges(size: u64) -> Vec<(u64, u64)> {
    let places = [0, 1, 511, 512, 4095, 4096, 65_535, 65_536, MIB + 7, 2 * MIB, size / 2, size - 513, size - 1, size];
    let mut ranges = vec![(0, size)];
    for start in places {
        for len in [0, 1, 512, 4097, 70_000] {
            if start < size {
                ranges.push((start, (start + len).min(size)));
            }
        }
    }
    ranges
}

fn write(path: &Path, commands: &[String]) {
    for command in commands {
        qemu("qemu-io", &["-c", command, text(path)]);
    }
}

#[test]
fn any_range_has_the_bytes_of_the_whole_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    let size = 3 * MIB + 5 * 512;
    for bits in [9, 12, 16, 21] {
        let options = format!("cluster_size={}", 1u64 << bits);
        qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", &options, text(&path), &size.to_string()]);
        write(
            &path,
            &[
                "write -q -P 1 0 100k".to_owned(),
                "write -q -P 2 300k 513k".to_owned(),
                "write -q -z 350k 40k".to_owned(),
                format!("write -q -c -P 3 2M {}", size - 2 * MIB),
                format!("write -q -P 4 {} 1024", size - 1024),
            ],
        );
        let expected = qemu_reads(&path, &raw);
        let case = Case::new(std::fs::read(&path).unwrap());
        for (number, (start, end)) in ranges(size).into_iter().enumerate() {
            let bytes = part(&case, ANSWERS[number % 3], start, end).unwrap();
            assert!(bytes == expected[start as usize..end as usize], "clusters of 2^{bits}, {start}..{end}");
        }
    }
}

#[test]
fn a_part_of_an_encrypted_sector_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    qcow2_with_luks(&path, "1M", "encrypt.iter-time=10", "secret");
    let options = format!("driver=qcow2,file.filename={},encrypt.key-secret=s", text(&path));
    let secret = ["--object", "secret,id=s,data=secret", "--image-opts"];
    qemu("qemu-io", &[&secret[..], &["-c", "write -q -P 9 1k 600k", &options]].concat());
    qemu("qemu-img", &[&["convert"][..], &secret, &["-O", "raw", &options, text(&raw)]].concat());
    let expected = std::fs::read(&raw).unwrap();
    let case = Case { password: Some(b"secret".to_vec()), ..Case::new(std::fs::read(&path).unwrap()) };
    for (start, end) in [(0, MIB), (1000, 1030), (1025, 1026), (5000, 99_999), (614_000, 616_000), (MIB - 1, MIB)] {
        let bytes = part(&case, Answers::InOrder, start, end).unwrap();
        assert!(bytes == expected[start as usize..end as usize], "{start}..{end}");
    }
}

#[test]
fn damage_matters_where_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&path), "1M"]);
    write(&path, &["write -q -P 5 0 128k".to_owned()]);
    // The second cluster is the last one of the file.
    let mut image = std::fs::read(&path).unwrap();
    image.truncate(image.len() - 4096);
    let mut case = Case::new(image);
    assert!(part(&case, Answers::InOrder, 0, 65_536).unwrap().iter().all(|&byte| byte == 5));
    assert_eq!(part(&case, Answers::InOrder, 65_536, 131_072).unwrap_err().kind, ErrorKind::Corrupt);
    case.salvage = true;
    let bytes = part(&case, Answers::InOrder, 65_536, 131_072).unwrap();
    let (kept, lost) = bytes.split_at(61_440);
    assert!(kept.iter().all(|&byte| byte == 5) && lost.iter().all(|&byte| byte == 0));
}
