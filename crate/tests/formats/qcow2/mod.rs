//! qcow2 for the suite: images made by hand, and by qemu-img.

mod fields;

use super::{Extreme, Format, Listing, Sample, Spare};
use crate::common::salvage::check_damage;
use crate::common::small::*;
use crate::common::*;
use decant::ErrorKind;
use decant::compress::decoding_damage::COMPRESSED_INVALID;
use decant::disk::host_ranges::DATA_OVERLAPS;
use decant::disk::losses::Lost;
use decant::error::damage::Damage;
use decant::format::qcow2::*;
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "qcow2", samples, fields: fields::check, damage, listings, extremes };

fn samples() -> Vec<Sample> {
    let header = 0..112;
    let mut samples = vec![
        Sample {
            salvaged: L1..usize::MAX,
            tables: vec![header.clone(), L1..L1 + 8, L2..L2 + 64],
            ..Sample::new("the smallest one", small(), small_disk())
        },
        Sample {
            salvaged: BIG..usize::MAX,
            tables: vec![header.clone(), BIG..BIG + 8, BIG_L2..BIG_L2 + 64],
            step: 512,
            // Two subclusters of its one cluster have data.
            spare: Spare::Exactly(BIG - 1024),
            ..Sample::new("extended L2 entries", extended(), extended_disk())
        },
        Sample {
            case: |file| Case { snapshot: Some("7".to_owned()), ..Case::new(file) },
            tables: vec![
                header,
                SNAPSHOTS..SNAPSHOTS + 64,
                SNAPSHOT_L1..SNAPSHOT_L1 + 8,
                SNAPSHOT_L2..SNAPSHOT_L2 + 32,
            ],
            ..Sample::new("a snapshot", with_snapshot(), [&[0xbb; CLUSTER][..], &[0; 3 * CLUSTER]].concat())
        },
        Sample {
            case: |file| Case {
                companions: vec![("data.raw".to_owned(), file)],
                ..Case::new(with_data_file("data.raw"))
            },
            signature: (0, ErrorKind::Corrupt),
            salvaged: 0..usize::MAX,
            // Two clusters of eight have data.
            spare: Spare::Exactly(6 * CLUSTER),
            ..Sample::new("a data file", small_disk(), small_disk())
        },
    ];
    samples.extend(made_by_qemu_img());
    samples
}

fn made_by_qemu_img() -> Vec<Sample> {
    let folder = tempfile::tempdir().unwrap();
    let (raw, path) = (folder.path().join("disk.raw"), folder.path().join("image.qcow2"));
    let mut disk: Vec<u8> = (0..120_000u32).map(|at| (at % 251) as u8 | 1).collect();
    std::fs::write(&raw, &disk).unwrap();
    disk.resize(disk.len().next_multiple_of(512), 0);
    let kinds: &[&[&str]] = &[
        &["-o", "cluster_size=4k"],
        &["-c", "-o", "cluster_size=16k"],
        &["-o", "cluster_size=512"],
        &["-c", "-o", "cluster_size=4k"],
        &["-o", "extended_l2=on,cluster_size=16k"],
    ];
    let made = kinds.iter().map(|options| {
        let args = [&["convert", "-f", "raw", "-O", "qcow2"], *options, &[text(&raw), text(&path)]].concat();
        qemu("qemu-img", &args);
        Sample {
            spare: Spare::Unknown,
            salvaged: 64 << 10..usize::MAX,
            step: 512,
            ..Sample::new(options.join(" "), std::fs::read(&path).unwrap(), disk.clone())
        }
    });
    made.collect()
}

fn damage() {
    let be64 = |value: u64| value.to_be_bytes();
    // The lost ranges, as (first cluster, clusters, reason).
    type Losses<'a> = &'a [(u64, u64, Damage)];
    let rows: &[(&str, Patch, Losses)] = &[
        ("nothing", &[], &[]),
        ("the L1 table", &[(40, &be64(1 << 20))], &[(0, 8, L1_TRUNCATED)]),
        ("the L2 table", &[(L1, &be64(1 << 40))], &[(0, 8, L2_TRUNCATED)]),
        ("a cluster", &[(L2, &be64(1 << 40))], &[(0, 1, CLUSTER_TRUNCATED)]),
        ("two neighbours", &[(L2, &be64(1 << 40)), (L2 + 8, &be64(1 << 39))], &[(0, 2, CLUSTER_TRUNCATED)]),
        (
            "the first cluster and the last one",
            &[(L2, &be64(1 << 40)), (L2 + 56, &be64(1 << 39))],
            &[(0, 1, CLUSTER_TRUNCATED), (7, 1, CLUSTER_TRUNCATED)],
        ),
        ("the L2 table, far away", &[(L1, &be64(1 << 41))], &[(0, 8, L2_OUTSIDE)]),
        ("a cluster, far away", &[(L2 + 8, &be64(1 << 41))], &[(1, 1, CLUSTER_OUTSIDE)]),
        ("a compressed cluster, far away", &[(L2, &be64(COMPRESSED | 1 << 41))], &[(0, 1, CLUSTER_OUTSIDE)]),
        ("a compressed cluster", &[(L2, &be64(COMPRESSED | 1 << 40))], &[(0, 1, COMPRESSED_TRUNCATED)]),
        ("compressed noise", &[(L2, &be64(COMPRESSED | DATA as u64))], &[(0, 1, COMPRESSED_INVALID)]),
        ("a zero cluster in version 2", &[(4, &[0, 0, 0, 2]), (L2, &be64(1))], &[(0, 1, ZERO_IN_VERSION_2)]),
        ("snapshots", &[(60, &[0, 0, 0, 1]), (64, &be64(1 << 30))], &[]),
    ];
    for (what, patches, losses) in rows {
        let lost: Vec<_> = losses.iter().map(|&(start, len, damage)| lost(start, len, damage)).collect();
        check_damage(what, &Case::new(changed(small(), patches)), &small_disk(), &lost);
    }
    // A compressed cluster that begins at the end of the second one, twelve bytes of which become zero.
    let zeros = [0; 12];
    let overlapping: Patch = &[(L2, &be64(COMPRESSED | (MORE as u64 + 500))), (MORE + 500, &zeros)];
    let disk = changed(small_disk(), &[(2 * CLUSTER - 12, &zeros)]);
    check_damage(
        "compressed zeros",
        &Case::new(changed(small(), overlapping)),
        &disk,
        &[lost(0, 1, COMPRESSED_INVALID), lost(1, 1, DATA_OVERLAPS)],
    );

    let bitmap = be64(1 << 32 | 0b111);
    let conflict = Case::new(changed(extended(), &[(BIG_L2 + 8, &bitmap)]));
    let mut disk = extended_disk();
    disk[1024..1536].fill(0xcc);
    check_damage("a subcluster", &conflict, &disk, &[lost(0, 1, SUBCLUSTER_CONFLICT)]);
    let nowhere = Case::new(changed(extended(), &[(BIG_L2, &[0; 8])]));
    check_damage("subclusters nowhere", &nowhere, &extended_disk(), &[lost(0, 2, SUBCLUSTER_NOWHERE)]);
    let short = Case {
        companions: vec![("data.raw".to_owned(), small_disk()[..700].to_vec())],
        ..Case::new(with_data_file("data.raw"))
    };
    check_damage("a short data file", &short, &small_disk(), &[lost(1, 1, CLUSTER_TRUNCATED)]);
}

/// `len` lost clusters from `start`, with the reason `damage`.
fn lost(start: u64, len: u64, damage: Damage) -> Lost {
    let cluster = CLUSTER as u64;
    Lost { start: GuestOffset(start * cluster), len: len * cluster, damage }
}

fn listings() -> Vec<Listing> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&path), "100G"]);
    let empty = std::fs::read(&path).unwrap();
    // 4 KiB clusters: an L2 table describes 2 MiB, so there are 16.
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=4k", text(&path), "64M"]);
    let writes: Vec<String> = (0..64).step_by(4).map(|at| format!("write -q -P 9 {at}M 300k")).collect();
    let commands: Vec<&str> = writes.iter().flat_map(|write| ["-c", write]).collect();
    qemu("qemu-io", &[&commands[..], &[text(&path)]].concat());
    let file = std::fs::read(&path).unwrap();
    let tables: Vec<_> = l2_tables(&file).into_iter().map(|start| start..start + 4096).collect();
    assert_eq!(tables.len(), 16);
    let word = |at: usize| u64::from_be_bytes(empty[at..at + 8].try_into().unwrap());
    let (entries, l1) = (word(32) & 0xffff_ffff, word(40));
    let l1_table = l1..l1 + entries * 8;
    vec![
        Listing {
            what: "an empty disk of 100 GiB",
            tables: vec![l1_table],
            data: 0,
            most_extents: 1,
            most_reads: 4,
            most_bytes: 200 << 10,
            file: empty,
        },
        Listing {
            what: "16 L2 tables",
            tables,
            // Clusters are written whole.
            data: 16 * (300 << 10),
            most_extents: 64,
            most_reads: 16 + 4,
            most_bytes: 16 * 4096 + (200 << 10),
            file,
        },
    ]
}

/// The positions of the L2 tables of an image.
pub fn l2_tables(image: &[u8]) -> Vec<u64> {
    let word = |at: u64| u64::from_be_bytes(image[at as usize..at as usize + 8].try_into().unwrap());
    let (entries, table) = (word(32) & 0xffff_ffff, word(40));
    (0..entries).map(|at| word(table + at * 8) & 0x00ff_ffff_ffff_fe00).filter(|&host| host != 0).collect()
}

/// Images with clusters of 2 MiB whose L1 table is after the end of the file.
fn extremes() -> Vec<Extreme> {
    const LARGEST: u64 = (1 << 53) - 512;
    let sized = |size: u64| {
        // An L2 table describes 512 GiB.
        let entries = size.div_ceil(512 << 30) as u32;
        changed(
            small()[..CLUSTER].to_vec(),
            &[
                (20, &21u32.to_be_bytes()),
                (24, &size.to_be_bytes()),
                (36, &entries.to_be_bytes()),
                (40, &(1u64 << 30).to_be_bytes()),
            ],
        )
    };
    vec![
        Extreme { what: "no bytes", file: sized(0), size: Ok(0) },
        Extreme { what: "a sector", file: sized(512), size: Ok(512) },
        Extreme { what: "the largest disk", file: sized(LARGEST), size: Ok(LARGEST) },
        Extreme { what: "a disk of 2^53 bytes", file: sized(1 << 53), size: Err(ErrorKind::Limit) },
        Extreme { what: "a disk of 2^64-512 bytes", file: sized(u64::MAX - 511), size: Err(ErrorKind::Limit) },
    ]
}
