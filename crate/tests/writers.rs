//! The fields of a VHD footer, and reports of holes to targets.

use crate::common::*;
use decant::io::target::{Abilities, Holes};
use decant::output::{self, Layout, Stamp};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const FOOTER: usize = 512;

fn layout_of(format: &str, virtual_size: u64) -> Box<dyn Layout> {
    layout(output::by_name(format).unwrap(), virtual_size).unwrap()
}

/// A field of the footer: its offset and its bytes.
type Field = (usize, &'static [u8]);

#[test]
fn each_field_of_a_footer() {
    let stamp = Stamp { seconds: u64::MAX, random: [0xff; 16] };
    // (virtual size, fields that depend on it)
    let cases: [(u64, &[Field]); 3] = [
        // Rounded up to 1 MiB: 2,048 sectors are 30 cylinders of 4 heads and 17 sectors.
        (512, &[(40, &[0, 0, 0, 0, 0, 0x10, 0, 0]), (48, &[0, 0, 0, 0, 0, 0x10, 0, 0]), (56, &[0, 30, 4, 17])]),
        (GIB, &[(40, &[0, 0, 0, 0, 0x40, 0, 0, 0]), (48, &[0, 0, 0, 0, 0x40, 0, 0, 0]), (56, &[0x08, 0x20, 16, 63])]),
        // More than the geometry can state: cylinders, heads and sectors are at their maximum.
        (200 * GIB, &[(48, &[0, 0, 0, 0x32, 0, 0, 0, 0]), (56, &[0xff, 0xff, 16, 255])]),
    ];
    let always: &[Field] = &[
        (0, b"conectix"),
        (8, &[0, 0, 0, 2, 0, 1, 0, 0]),
        (16, &[0xff; 8]),
        // 2000-01-01, whenever it is made.
        (24, &[0; 4]),
        (28, b"win "),
        (36, b"Wi2k"),
        (60, &[0, 0, 0, 2]),
        // Version and variant of a random UUID.
        (68, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x4f, 0xff, 0xbf]),
        (77, &[0xff; 7]),
        (84, &[0; FOOTER - 84]),
    ];
    for (size, fields) in cases {
        let footer = layout_of("vpc", size).footer(&stamp);
        assert_eq!(footer.len(), FOOTER);
        for (at, bytes) in fields.iter().chain(always) {
            assert_eq!(&footer[*at..at + bytes.len()], *bytes, "{size}, byte {at}");
        }
        let sum: u32 =
            footer.iter().enumerate().map(|(at, &byte)| if (64..68).contains(&at) { 0 } else { byte.into() }).sum();
        assert_eq!(footer[64..68], (!sum).to_be_bytes(), "{size}: the checksum");
    }
}

#[test]
fn a_target_with_holes_receives_them() {
    // A disk of 8 MiB: data in its first and its last cluster, and a cluster of zeros in the middle of the file.
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&image), "8M"]);
    let writes = ["write -P 1 0 64k", "write -P 0 1M 64k", "write -P 2 8323072 64k"];
    let args: Vec<_> = ["-f", "qcow2"].into_iter().chain(writes.iter().flat_map(|write| ["-c", write])).collect();
    qemu("qemu-io", &[&args[..], &[text(&image)]].concat());
    let case = Case::new(std::fs::read(&image).unwrap());
    let told = |holes, format, job| {
        let abilities = Abilities { ascending: true, holes, short_hole: 0, late_start: u64::MAX };
        let converted = case.convert_to(format, Answers::InOrder, abilities, job);
        converted.result.unwrap();
        (converted.target.holes.take(), converted.target.data_bytes.get())
    };
    // Zeros found in data count as a hole, across jobs.
    let (holes, data) = told(Holes::Report, "raw", 8 << 20);
    assert_eq!((holes.iter().map(|(_, len)| len).sum::<u64>(), data), (8 * MIB - (128 << 10), 128 << 10));
    assert!(holes.len() <= 3, "{holes:?}");
    // A large one is reported in parts: the target may have to send it.
    let (holes, _) = told(Holes::Report, "raw", 1 << 20);
    assert_eq!(holes.iter().map(|(_, len)| len).sum::<u64>(), 8 * MIB - (128 << 10));
    assert!(holes.len() >= 7 && holes.iter().all(|(_, len)| *len <= 2 * MIB), "{holes:?}");
    // If holes are filled, zeros in data are data, and a hole is reported in parts, so that progress is visible.
    let (holes, data) = told(Holes::WriteZeros, "raw", 1 << 20);
    assert_eq!((holes.iter().map(|(_, len)| len).sum::<u64>(), data), (8 * MIB - (192 << 10), 192 << 10));
    assert!(holes.len() >= 7 && holes.iter().all(|(_, len)| *len <= MIB), "{holes:?}");
    // The footer of a VHD counts as data.
    assert_eq!(told(Holes::Report, "vpc", 8 << 20).1, (128 << 10) + 512);
}
