//! Clusters compressed by zstd: all kinds of frames, including hostile ones, compared with qemu-img.

use crate::common::random::Random;
use crate::common::small::*;
use crate::common::*;
use std::hash::Hasher;
use std::path::Path;
use std::process::Command;
use twox_hash::XxHash64;

const MAGIC: [u8; 4] = 0xfd2f_b528u32.to_le_bytes();

/// A block of a frame: its kind (0 raw, 1 one byte repeated), whether it is the last one, its content.
fn block(kind: u32, last: bool, size: usize, content: &[u8]) -> Vec<u8> {
    let header = u32::from(last) | kind << 1 | (size as u32) << 3;
    [&header.to_le_bytes()[..3], content].concat()
}

/// A frame with a window of 2^`log` bytes and no content size.
fn frame(log: u8, blocks: &[Vec<u8>]) -> Vec<u8> {
    [&MAGIC[..], &[0, (log - 10) << 3], &blocks.concat()].concat()
}

/// A frame of one segment that declares its size.
fn sized(size: u8, blocks: &[Vec<u8>]) -> Vec<u8> {
    [&MAGIC[..], &[0x20, size], &blocks.concat()].concat()
}

fn repeated(size: usize, last: bool) -> Vec<u8> {
    block(1, last, size, &[0x5a])
}

/// A frame of `size` bytes with a checksum, right or wrong.
fn checked(size: usize, right: bool) -> Vec<u8> {
    let mut hash = XxHash64::with_seed(0);
    hash.write(&vec![0x5a; size]);
    let sum = (hash.finish() as u32) ^ u32::from(!right);
    [&MAGIC[..], &[4, 0], &repeated(size, true), &sum.to_le_bytes()].concat()
}

fn skippable(len: u32) -> Vec<u8> {
    [&0x184d_2a53u32.to_le_bytes()[..], &len.to_le_bytes(), &vec![1; len.min(100) as usize]].concat()
}

/// `small` as a zstd image whose first cluster is compressed to `stream`, with an empty refcount table,
/// without which qemu-img opens nothing.
fn image(stream: &[u8]) -> Vec<u8> {
    // One sector besides the first.
    let entry = COMPRESSED | END as u64 | 1 << 61;
    let refcounts = END + 1024;
    let mut image = changed(
        small(),
        &[
            (48, &(refcounts as u64).to_be_bytes()),
            (56, &1u32.to_be_bytes()),
            (79, &[8]),
            (100, &112u32.to_be_bytes()),
            (104, &[1]),
            (L2, &entry.to_be_bytes()),
            (END, &stream[..stream.len().min(1024)]),
        ],
    );
    image.resize(refcounts + CLUSTER, 0);
    image
}

/// The output of qemu-img for the image, if it succeeds.
fn qemu_reads_it(image: &[u8], folder: &Path) -> Option<Vec<u8>> {
    let (path, raw) = (folder.join("image.qcow2"), folder.join("raw"));
    std::fs::write(&path, image).unwrap();
    let output = Command::new("qemu-img").args(["convert", "-O", "raw", text(&path), text(&raw)]).output().unwrap();
    output.status.success().then(|| std::fs::read(raw).unwrap())
}

#[test]
fn frames_of_every_shape() {
    let folder = tempfile::tempdir().unwrap();
    let half = CLUSTER / 2;
    let noise: Vec<u8> = (0..900u32).map(|at| ((at * 7919) >> 3) as u8).collect();
    // (what, stream, whether it is a cluster of 0x5a, whether qemu-img agrees)
    let cases: &[(&str, Vec<u8>, bool, bool)] = &[
        ("one frame", frame(17, &[repeated(CLUSTER, true)]), true, true),
        ("raw blocks", frame(17, &[block(0, false, 100, &[0x5a; 100]), block(0, true, 412, &[0x5a; 412])]), true, true),
        ("one segment", sized(0xff, &[repeated(255, true)]).repeat(2), false, true),
        ("two frames", [frame(10, &[repeated(half, true)]), frame(17, &[repeated(half, true)])].concat(), true, true),
        ("a skippable frame before", [skippable(20), frame(17, &[repeated(CLUSTER, true)])].concat(), true, true),
        (
            "a skippable frame between",
            [frame(17, &[repeated(half, true)]), skippable(0), frame(17, &[repeated(half, true)])].concat(),
            true,
            true,
        ),
        (
            "an empty frame before",
            [frame(17, &[repeated(0, true)]), frame(17, &[repeated(CLUSTER, true)])].concat(),
            true,
            true,
        ),
        ("trailing bytes", [frame(17, &[repeated(CLUSTER, true)]), noise.clone()].concat(), true, true),
        ("a trailing frame", frame(17, &[repeated(CLUSTER, true)]).repeat(2), true, true),
        ("an empty last block", frame(17, &[repeated(CLUSTER, false), repeated(0, true)]), true, true),
        ("a window of 2^27", frame(27, &[repeated(CLUSTER, true)]), true, true),
        ("a window of 2^28", frame(28, &[repeated(CLUSTER, true)]), false, true),
        ("a window of 2^41", frame(41, &[repeated(CLUSTER, true)]), false, true),
        ("a right checksum", checked(CLUSTER, true), true, true),
        ("a wrong checksum", checked(CLUSTER, false), false, true),
        ("a size declared too small", sized(100, &[repeated(200, true)]), false, true),
        ("a size declared too large", [&MAGIC[..], &[0x60, 0, 9], &repeated(CLUSTER, true)].concat(), false, true),
        (
            "a size of 2^63",
            [&MAGIC[..], &[0xe0], &[0, 0, 0, 0, 0, 0, 0, 0x80], &repeated(CLUSTER, true)].concat(),
            false,
            true,
        ),
        ("more than a cluster", frame(17, &[repeated(CLUSTER + 1, true)]), false, true),
        ("another block after a full cluster", frame(17, &[repeated(CLUSTER, false), repeated(1, true)]), false, true),
        ("expanding without end", frame(17, &vec![repeated(128 << 10, false); 200]), false, true),
        ("less than a cluster", frame(17, &[repeated(CLUSTER - 1, true)]), false, true),
        ("a dictionary", [&MAGIC[..], &[1, 56, 7], &repeated(CLUSTER, true)].concat(), false, true),
        ("a reserved block", frame(17, &[block(3, true, 4, &[0; 4])]), false, true),
        ("a compressed block of noise", frame(17, &[block(2, true, 800, &noise)]), false, true),
        ("a skippable frame without end", skippable(u32::MAX), false, true),
        ("deflate", vec![1, 0, 2, 0xff, 0xfd], false, true),
        ("nothing", vec![], false, true),
    ];
    let mut good_disk = small_disk();
    good_disk[..CLUSTER].fill(0x5a);
    let mut wrong = Vec::new();
    for (what, stream, good, agrees) in cases {
        let image = image(stream);
        let ours = Case::new(image.clone()).bytes();
        let right = match &ours {
            Ok(disk) => *good && *disk == good_disk,
            Err(error) => !good && error.message().contains("compressed cluster"),
        };
        if !right {
            wrong.push(format!("{what}: {:?}", ours.as_ref().map(|disk| disk.len())));
        }
        let theirs = qemu_reads_it(&image, folder.path());
        if (theirs == ours.ok()) != *agrees {
            wrong.push(format!("{what}: qemu-img {:?}", theirs.map(|disk| disk == good_disk)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn real_data_and_its_mutations() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, path, out) = (folder.path().join("raw"), folder.path().join("image.qcow2"), folder.path().join("out"));
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    for cluster in ["512", "4k", "64k", "2M"] {
        std::fs::write(&raw, &program[..3 << 20]).unwrap();
        let options = format!("compression_type=zstd,cluster_size={cluster}");
        qemu("qemu-img", &["convert", "-c", "-f", "raw", "-O", "qcow2", "-o", &options, text(&raw), text(&path)]);
        let image = std::fs::read(&path).unwrap();
        assert!(Case::new(image).bytes().unwrap() == qemu_reads(&path, &out), "{cluster}");
    }
    // One byte changed anywhere in compressed data: an error, or a change of content that no checksum
    // guards; never a panic.
    let image = std::fs::read(&path).unwrap();
    for seed in 0..by_scope(10, 30, 2000) {
        let mut random = Random::new(seed);
        let mut image = image.clone();
        let at = image.len() / 2 + random.below(image.len() / 2);
        image[at] ^= 1 << random.below(8);
        let _ = Case::new(image).bytes();
    }
}
