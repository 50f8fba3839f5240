//! Salvage: what can be read is right, the rest is zeros and listed.

use crate::common::small::*;
use crate::common::*;
use decant::damage::decoding::COMPRESSED_INVALID;
use decant::damage::{Damage, Losses, Lost, MOST_LISTED};
use decant::format::qcow2::damage::*;
use decant::target::{Abilities, Holes};

/// Converts what is left of `image` by every kind of job; all must agree.
fn salvage(case: &Case) -> (Vec<u8>, Vec<Lost>) {
    let case = Case { salvage: true, ..case.clone() };
    let mut results: Vec<_> = [512, 4096, 1 << 20]
        .map(|job| {
            let converted = case.convert(Answers::Reverse, Abilities::default(), job);
            converted.result.unwrap();
            (converted.target.bytes.take(), converted.lost)
        })
        .into();
    let last = results.pop().unwrap();
    assert!(results.iter().all(|result| *result == last), "other losses with other jobs");
    let (disk, Losses { listed, ranges, bytes }) = last;
    assert_eq!((ranges, bytes), (listed.len() as u64, listed.iter().map(|lost| lost.len).sum()));
    (disk, listed)
}

/// An image with clusters of 512 bytes, and what salvage makes of its disk. Every other cluster is lost, `lost` of
/// them; then come at least `shift` clusters of zeros, and 63 with data at the end.
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

/// A job lists a bounded number of losses; what follows the last one is in another job, and in no other.
#[test]
fn more_losses_than_a_job_lists() {
    for (lost, shift) in [(4095, 0), (4096, 0), (4096, 1), (4097, 3), (9_999, 5), (10_000, 1), (10_001, 0), (32_768, 5)]
    {
        let (image, expected) = many_losses(lost, shift);
        let case = Case { salvage: true, ..Case::new(image) };
        for kind in [Abilities::default(), Abilities { holes: Holes::Filled, ..Abilities::default() }] {
            let converted = case.convert(Answers::Reverse, kind, 1 << 20);
            converted.result.unwrap();
            assert!(converted.target.bytes.take() == expected, "{lost}, {shift}: other bytes");
            let Losses { listed, ranges, bytes } = converted.lost;
            assert_eq!((ranges, bytes), (lost as u64, (lost * CLUSTER) as u64), "{shift}");
            assert_eq!(listed.len(), lost.min(MOST_LISTED), "{shift}");
            // The first ones, each by itself.
            let expected = (0..listed.len() as u64).map(|number| (number * 2 * CLUSTER as u64, CLUSTER as u64));
            assert!(listed.iter().map(|lost| (lost.start, lost.len)).eq(expected));
        }
    }
}

#[test]
fn each_damage_costs_its_range_only() {
    let be64 = |value: u64| value.to_be_bytes();
    let cluster = CLUSTER as u64;
    // (base, patches, what is lost as (first cluster, clusters, why))
    type Losses<'a> = &'a [(u64, u64, Damage)];
    let cases: &[(Vec<u8>, Patch, Losses)] = &[
        (small(), &[], &[]),
        (small(), &[(40, &be64(1 << 20))], &[(0, 8, L1_TRUNCATED)]),
        (small(), &[(L1, &be64(1 << 40))], &[(0, 8, L2_TRUNCATED)]),
        (small(), &[(L2, &be64(1 << 40))], &[(0, 1, CLUSTER_TRUNCATED)]),
        (small(), &[(L2, &be64(1 << 40)), (L2 + 8, &be64(1 << 41))], &[(0, 2, CLUSTER_TRUNCATED)]),
        (
            small(),
            &[(L2, &be64(1 << 40)), (L2 + 56, &be64(1 << 41))],
            &[(0, 1, CLUSTER_TRUNCATED), (7, 1, CLUSTER_TRUNCATED)],
        ),
        (small(), &[(L2, &be64(COMPRESSED | 1 << 40))], &[(0, 1, COMPRESSED_TRUNCATED)]),
        (small(), &[(L2, &be64(COMPRESSED | DATA as u64))], &[(0, 1, COMPRESSED_INVALID)]),
        (
            small(),
            &[(L2, &be64(COMPRESSED | (MORE as u64 + 500))), (MORE + 500, &[0; 12])],
            &[(0, 1, COMPRESSED_INVALID)],
        ),
        (small(), &[(4, &[0, 0, 0, 2]), (L2, &be64(1))], &[(0, 1, ZERO_IN_VERSION_2)]),
        (small(), &[(60, &[0, 0, 0, 1]), (64, &be64(1 << 30))], &[]),
    ];
    for (number, (base, patches, losses)) in cases.iter().enumerate() {
        let (disk, lost) = salvage(&Case::new(changed(base.clone(), patches)));
        let expected: Vec<_> = losses
            .iter()
            .map(|&(start, len, damage)| Lost { start: start * cluster, len: len * cluster, damage })
            .collect();
        assert_eq!(lost, expected, "case {number}");
        for (at, (byte, right)) in disk.iter().zip(small_disk()).enumerate() {
            let is_lost = lost.iter().any(|lost| (lost.start..lost.start + lost.len).contains(&(at as u64)));
            let is_changed = number == 8 && (1012..1024).contains(&at);
            assert_eq!(*byte, if is_lost || is_changed { 0 } else { right }, "case {number} at {at}");
        }
    }
}

#[test]
fn damage_of_subclusters_and_data_files() {
    let bitmap = (1u64 << 32 | 0b111).to_be_bytes();
    let (disk, lost) = salvage(&Case::new(changed(extended(), &[(BIG_L2 + 8, &bitmap)])));
    assert_eq!(lost, [Lost { start: 0, len: 512, damage: SUBCLUSTER_CONFLICT }]);
    assert!(disk[512..1536].iter().all(|&byte| byte == 0xcc) && disk[1536..].iter().all(|&byte| byte == 0));
    let nowhere = changed(extended(), &[(BIG_L2, &[0; 8])]);
    assert_eq!(salvage(&Case::new(nowhere)).1, [Lost { start: 0, len: 1024, damage: SUBCLUSTER_NOWHERE }]);
    let case = Case {
        companions: vec![("data.raw".to_owned(), small_disk()[..700].to_vec())],
        ..Case::new(with_data_file("data.raw"))
    };
    let (disk, lost) = salvage(&case);
    assert_eq!(lost, [Lost { start: 512, len: 512, damage: CLUSTER_TRUNCATED }]);
    assert!(disk[..512].iter().all(|&byte| byte == 0xaa) && disk[512..].iter().all(|&byte| byte == 0));
}

/// Where an image ends early, what is not listed as lost is right.
#[test]
fn every_truncation_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, path) = (folder.path().join("disk.raw"), folder.path().join("image.qcow2"));
    std::fs::write(&raw, (0..120_000u32).map(|at| (at % 251) as u8 | 1).collect::<Vec<_>>()).unwrap();
    for options in
        [&["-o", "cluster_size=512"][..], &["-c", "-o", "cluster_size=4k"], &["-o", "extended_l2=on,cluster_size=16k"]]
    {
        let mut args = vec!["convert", "-f", "raw", "-O", "qcow2"];
        args.extend(options);
        args.extend([text(&raw), text(&path)]);
        qemu("qemu-img", &args);
        let image = std::fs::read(&path).unwrap();
        let expected = Case::new(image.clone()).bytes().unwrap();
        let step = if long() { 512 } else { 512 * 13 };
        for len in (64 << 10..image.len()).step_by(step).chain([image.len()]) {
            let (disk, lost) = salvage(&Case::new(image[..len].to_vec()));
            let mut lost = lost.into_iter().peekable();
            for at in (0..disk.len()).step_by(512) {
                while lost.peek().is_some_and(|lost| lost.start + lost.len <= at as u64) {
                    lost.next();
                }
                let end = (at + 512).min(disk.len());
                let is_lost = lost.peek().is_some_and(|lost| lost.start <= at as u64);
                let right = if is_lost {
                    disk[at..end].iter().all(|&byte| byte == 0)
                } else {
                    disk[at..end] == expected[at..end]
                };
                assert!(right, "{options:?}: the first {len} bytes, at {at}");
            }
        }
    }
}

#[test]
fn what_is_no_damage_stays_an_error() {
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
