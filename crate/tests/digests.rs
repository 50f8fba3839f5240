//! Digests of fs-verity, compared with those of its own program. `pairs.rs`, `reshape.rs` and the tests of salvages compare digests of bytes.

use crate::common::*;
use crate::pairs::{disk, images, padded};
use decant::convert::DiskDigest;
use decant::io::target::{Abilities, Holes};
use decant::output::{OUTPUT_FORMATS, Options};
use std::path::Path;
use std::process::Command;

/// What `fsverity digest` prints for the file `path`, and its size.
fn by_fsverity(path: &Path) -> DiskDigest {
    let made = Command::new("fsverity").args(["digest", "--compact"]).arg(path).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let digits = String::from_utf8(made.stdout).unwrap();
    let hash = std::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap());
    DiskDigest { hash, size: path.metadata().unwrap().len() }
}

fn tree(case: Case, answers: Answers, job: u64) -> Option<DiskDigest> {
    let case = Case { digest: Some(Digested::FsVerity), ..case };
    let converted = case.convert(answers, Abilities::default(), job);
    converted.result.unwrap();
    assert_eq!(converted.target.data_bytes.get(), 0, "only hashes are wanted");
    converted.digest
}

#[test]
fn a_tree_is_that_of_fsverity_whatever_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("disk.raw");
    std::fs::write(&raw, disk()).unwrap();
    let expected = by_fsverity(&raw);
    for (format, path) in images(folder.path(), &raw) {
        let image = std::fs::read(path).unwrap();
        // Only the format raw must be stated.
        let format_stated = (format == "raw").then(|| format.to_owned());
        let case = Case { format: format_stated, password: Some(b"secret".to_vec()), ..Case::new(image) };
        for (answers, job) in [(Answers::Reverse, 4096), (Answers::InOrder, 64 << 10), (Answers::OneAtATime, 4 << 20)] {
            let found = tree(case.clone(), answers, job).unwrap();
            let scratch = folder.path().join("padded.raw");
            std::fs::write(&scratch, padded(&disk(), found.size)).unwrap();
            assert_eq!(found, by_fsverity(&scratch), "{format}, jobs of {job}");
        }
    }
    let packed = Case::new(filter("gzip", &["-c1"], &disk()));
    assert_eq!(tree(packed, Answers::InOrder, 1 << 20), Some(expected), "gzip");
}

#[test]
fn sizes_of_disks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.raw");
    for size in [512, 3584, 4096, 4608, (512 << 10) - 512, 512 << 10, (512 << 10) + 512, (1 << 20) + 512] {
        for byte in [0, 7] {
            let disk = vec![byte; size];
            std::fs::write(&path, &disk).unwrap();
            let case = Case { format: Some("raw".to_owned()), ..Case::new(disk.clone()) };
            assert_eq!(tree(case.clone(), Answers::InOrder, 64 << 10), Some(by_fsverity(&path)), "{size}");
            let case = Case { digest: Some(Digested::Sha256), ..case };
            let converted = case.convert(Answers::InOrder, Abilities::default(), 64 << 10);
            assert_eq!(converted.digest, Some(digest_of(&disk)), "{size}");
        }
    }
}

/// A digest in a conversion changes no byte of the output.
#[test]
fn outputs_are_the_same_with_a_digest() {
    let disk = disk();
    let plain = Case { format: Some("raw".to_owned()), ..Case::new(disk.clone()) };
    let hashed = Case { digest: Some(Digested::Sha256), ..plain.clone() };
    let ascending = Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: 0 };
    let late = Abilities { late_start: u64::MAX, ..Abilities::default() };
    for format in OUTPUT_FORMATS {
        for (abilities, job) in [(late, 64 << 10), (ascending, 1 << 20)] {
            let to =
                |case: &Case| case.convert_with(format, Options::recommended(format), Answers::Reverse, abilities, job);
            let (expected, found) = (to(&plain), to(&hashed));
            assert_eq!((expected.digest, found.digest), (None, Some(digest_of(&disk))), "{}", format.name);
            assert!(*expected.target.bytes.borrow() == *found.target.bytes.borrow(), "{}: other bytes", format.name);
        }
    }
}
