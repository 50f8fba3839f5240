//! Images in several parts, which the caller hands over together and states. `worker/api/split-image.ts` checks them.

use crate::common::small::{small, small_disk};
use crate::common::*;
use crate::tar::{archive, content, member};
use decant::io::target::Abilities;

/// `image` in parts of `len` bytes.
fn split(image: &[u8], len: usize) -> Case {
    let mut parts = image.chunks(len).map(<[u8]>::to_vec);
    let first = parts.next().unwrap();
    let companions: Vec<_> = parts.enumerate().map(|(at, part)| (format!("disk.{:03}", at + 2), part)).collect();
    Case { name: Some("disk.001".to_owned()), parts: companions.len(), companions, ..Case::new(first) }
}

fn raw() -> Option<String> {
    Some("raw".to_owned())
}

#[test]
fn parts_are_one_image() {
    let (image, raw_disk) = (small(), content());
    let disk = [&raw_disk[..], &[0; 352]].concat();
    let ova = archive(&[member("a.ovf", b'0', b"<xml/>"), member("d.qcow2", b'0', &image)]);
    let gzip = filter("gzip", &["-c"], &raw_disk);
    for divisor in [1, 2, 3, 7] {
        let len = |file: &[u8]| file.len().div_ceil(divisor);
        let stated = Case { format: raw(), ..split(&raw_disk, len(&raw_disk)) };
        // (what, case, expected)
        let rows = [
            ("qcow2", split(&image, len(&image)), &small_disk()),
            (
                "qcow2 with its format",
                Case { format: Some("qcow2".into()), ..split(&image, len(&image)) },
                &small_disk(),
            ),
            ("an archive", split(&ova, len(&ova)), &small_disk()),
            ("gzip", split(&gzip, len(&gzip)), &disk),
            ("raw", stated, &disk),
        ];
        for (what, case, expected) in rows {
            for answers in ANSWERS {
                let converted = case.convert(answers, Abilities::default(), 4096);
                converted.result.unwrap();
                assert!(converted.target.bytes.take() == *expected, "{what} in {divisor}: other bytes");
            }
        }
    }
}
