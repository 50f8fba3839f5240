//! Streamed disks in outputs that state the size before the disk.

use crate::common::vhd::{FIXED, Vhd};
use crate::common::*;
use crate::gzip::noise;
use decant::io::target::Abilities;
use decant::output::OUTPUT_FORMATS;

const KIB: usize = 1 << 10;

/// A disk whose first and last blocks have data.
fn disk() -> Vec<u8> {
    let mut disk = [noise(300 * KIB), vec![0; 3000 * KIB], noise(77 * KIB)].concat();
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

fn packed(disk: &[u8], size: usize) -> Case {
    Case { size: Some(size as u64), ..Case::new(filter("gzip", &["-cn1"], disk)) }
}

/// Targets that take bytes in any order, and in ascending order only.
fn targets() -> [Abilities; 2] {
    let any = Abilities { late_start: u64::MAX, ..Abilities::default() };
    [any, Abilities { ascending: true, late_start: 0, ..any }]
}

/// With the right size, each output is that of the disk in a plain file. With another one, none is completed.
#[test]
fn sizes_of_streamed_disks() {
    let disk = disk();
    for format in OUTPUT_FORMATS.iter().map(|format| format.name) {
        for (abilities, job) in targets().into_iter().zip([256 << 10, 4 << 20]) {
            let plain = Case { format: Some("raw".to_owned()), ..Case::new(disk.clone()) };
            let expected = plain.convert_to(format, Answers::InOrder, abilities, job);
            let expected_size = expected.result.unwrap().guest_total;
            let found = packed(&disk, disk.len()).convert_to(format, Answers::InOrder, abilities, job);
            let progress = found.result.unwrap_or_else(|error| panic!("{format}: {error}"));
            assert_eq!(progress.guest_total, expected_size, "{format}");
            assert!(*found.target.bytes.borrow() == *expected.target.bytes.borrow(), "{format}: other bytes");
            let wrong = [disk.len() - 512, disk.len() + 512, 512, 2 * disk.len(), 5 << 20];
            for &wrong in &wrong[..by_scope(2, 5, 5)] {
                let failed = packed(&disk, wrong).convert_to(format, Answers::InOrder, abilities, job);
                let error = failed.result.unwrap_err();
                assert_eq!(
                    (&*error.code, error.kind),
                    ("other-disk-size", decant::ErrorKind::Corrupt),
                    "{format} {wrong}"
                );
                assert!(!failed.target.finished.get(), "{format} of {wrong} bytes was completed");
            }
        }
    }
}

/// The footer of a fixed VHD is not a part of the disk, whatever a container states.
#[test]
fn footers_do_not_count() {
    let disk = disk();
    let footer = Vhd { kind: FIXED, size: disk.len() as u64, ..Vhd::new(disk.len(), &[]) }.footer();
    let vhd = [&disk[..], &footer].concat();
    let convert = |size| packed(&vhd, size).convert_to("qcow2", Answers::InOrder, targets()[0], 1 << 20).result;
    assert!(convert(disk.len()).is_ok());
    assert_eq!(&*convert(vhd.len()).unwrap_err().code, "other-disk-size");
}
