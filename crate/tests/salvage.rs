//! Salvage of images with many losses, and errors that are not damage.

use crate::common::small::*;
use crate::common::*;
use decant::disk::losses::{Losses, MOST_LISTED};
use decant::io::target::{Abilities, Holes};

/// An image with clusters of 512 bytes, and its salvaged disk. Every second cluster is lost, `lost` in all; at least
/// `shift` clusters of zeros follow, and 63 with data at the end.
fn many_losses(lost: usize, shift: usize) -> (Vec<u8>, Vec<u8>) {
    let clusters = (2 * lost + shift + 63).next_multiple_of(64);
    let tables = clusters / 64;
    let (l1, l2) = (CLUSTER, CLUSTER + (tables * 8).next_multiple_of(CLUSTER));
    let data = l2 + tables * CLUSTER;
    let mut image = small()[..CLUSTER].to_vec();
    image.resize(data + CLUSTER, 0);
    let mut disk = vec![0; clusters * CLUSTER];
    let beyond = COMPRESSED | 1 << 40;
    for table in 0..tables {
        image[l1 + table * 8..][..8].copy_from_slice(&((l2 + table * CLUSTER) as u64).to_be_bytes());
    }
    for number in 0..clusters {
        let entry = match number {
            _ if number < 2 * lost && number % 2 == 0 => beyond,
            _ if number >= clusters - 63 => {
                disk[number * CLUSTER..][..CLUSTER].fill(0x3c);
                data as u64
            }
            _ => 1,
        };
        image[l2 + number * 8..][..8].copy_from_slice(&entry.to_be_bytes());
    }
    image[data..].fill(0x3c);
    let size = (clusters * CLUSTER) as u64;
    let head: Patch =
        &[(24, &size.to_be_bytes()), (36, &(tables as u32).to_be_bytes()), (40, &(l1 as u64).to_be_bytes())];
    (changed(image, head), disk)
}

/// A job lists a bounded number of losses; the rest is in the next job, exactly once.
#[test]
fn more_losses_than_a_job_lists() {
    for (lost, shift) in [(4095, 0), (4096, 0), (4096, 1), (4097, 3), (9_999, 5), (10_000, 1), (10_001, 0), (32_768, 5)]
    {
        let (image, expected) = many_losses(lost, shift);
        let case = Case { salvage: true, ..Case::new(image) };
        for kind in [Abilities::default(), Abilities { holes: Holes::WriteZeros, ..Abilities::default() }] {
            let converted = case.convert(Answers::Reverse, kind, 1 << 20);
            converted.result.unwrap();
            assert!(converted.target.bytes.take() == expected, "{lost}, {shift}: other bytes");
            let Losses { listed, ranges, bytes } = converted.lost;
            assert_eq!((ranges, bytes), (lost as u64, (lost * CLUSTER) as u64), "{shift}");
            assert_eq!(listed.len(), lost.min(MOST_LISTED), "{shift}");
            // The first ones, separately.
            let expected = (0..listed.len() as u64).map(|number| (number * 2 * CLUSTER as u64, CLUSTER as u64));
            assert!(listed.iter().map(|lost| (lost.start.0, lost.len)).eq(expected));
        }
    }
}

#[test]
fn other_failures_stay_errors() {
    use decant::ErrorKind::*;
    let be32 = |value: u32| value.to_be_bytes();
    let cases: &[(Vec<u8>, decant::ErrorKind)] = &[
        (overlay("base", None), MissingFile),
        (changed(small(), &[(32, &be32(1))]), Password),
        (changed(small(), &[(79, &[32])]), Unsupported),
        (changed(small(), &[(20, &be32(3))]), Corrupt),
        (changed(small(), &[(24, &[0x7f])]), Limit),
    ];
    for (image, kind) in cases {
        assert_eq!(Case { salvage: true, ..Case::new(image.clone()) }.bytes().unwrap_err().kind, *kind);
    }
}
