//! Hostile images of a megabyte: their cost in memory and reads, and that their conversions can be cancelled at any
//! time. Reads are counted; times are not asserted.

use crate::alone;
use crate::common::each_run::{EachRun, nowhere};
use crate::common::small::*;
use crate::common::vdi::{Block, FREE, Vdi};
use crate::common::{Case, by_scope, convert, layout, vmdk};
use crate::counting::{ALLOCATIONS, HELD, PEAK};
use decant::convert::{Cancel, Output};
use decant::disk::file_check::CheckProgress;
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::offsets::HostOffset;
use decant::output::{OUTPUT_FORMATS, Stamp};
use decant::{ErrorKind, Image, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Instant;

const MIB: usize = 1 << 20;
const MEMORY: usize = 256 * MIB;

/// A file in memory that counts its reads, yields to other tasks, and may cancel.
struct Counted {
    bytes: Vec<u8>,
    reads: Cell<u64>,
    read: Cell<u64>,
    cancel: Rc<Cancel>,
    /// The number of the read that cancels.
    cancel_at: Cell<u64>,
}

impl Source for Counted {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.reads.set(self.reads.get() + 1);
        self.read.set(self.read.get() + buf.len() as u64);
        if self.reads.get() == self.cancel_at.get() {
            self.cancel.cancel();
        }
        let start = offset.0 as usize;
        buf.copy_from_slice(&self.bytes[start..start + buf.len()]);
        let mut waited = false;
        std::future::poll_fn(move |context| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(Ok(()));
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .boxed_local()
    }
}

/// A target that takes bytes in order, and drops them.
pub fn in_order() -> EachRun<impl Fn(u64, &[u8])> {
    nowhere(Abilities { ascending: true, late_start: u64::MAX, ..Abilities::default() })
}

/// An image of at least a megabyte with clusters of 2^`bits` bytes: all L1 entries are `l1`, and all entries of the L2
/// table at `table` are `l2`.
fn uniform(bits: u32, l1: u64, table: usize, l2: u64) -> Vec<u8> {
    let cluster = 1usize << bits;
    let entries = ((MIB / cluster).max(1) * cluster) / 8;
    let l1_at = cluster;
    let size = (entries as u64).saturating_mul((cluster as u64 / 8) << bits).min(1 << 52);
    let len = (l1_at + entries * 8).max(table + cluster) + cluster;
    let mut image = changed(
        vec![0; len],
        &[
            (0, b"QFI\xfb\0\0\0\x03"),
            (20, &bits.to_be_bytes()),
            (24, &size.to_be_bytes()),
            (36, &(entries as u32).to_be_bytes()),
            (40, &(l1_at as u64).to_be_bytes()),
            (96, &4u32.to_be_bytes()),
            (100, &104u32.to_be_bytes()),
        ],
    );
    for at in 0..entries {
        image[l1_at + at * 8..][..8].copy_from_slice(&l1.to_be_bytes());
    }
    for at in 0..cluster / 8 {
        image[table + at * 8..][..8].copy_from_slice(&l2.to_be_bytes());
    }
    image
}

/// All clusters are the same compressed one, without zeros.
fn one_compressed_cluster(bits: u32) -> Vec<u8> {
    let cluster = 1usize << bits;
    let stream = miniz_oxide::deflate::compress_to_vec(&vec![0x5a; cluster], 9);
    let table = (cluster + MIB).next_multiple_of(cluster);
    let host = table + cluster;
    let sectors = (stream.len() / 512) as u64;
    let entry = COMPRESSED | sectors << (62 - (bits - 8)) | host as u64;
    changed(uniform(bits, table as u64, table, entry), &[(host, &stream), (host + stream.len(), &[0; 512])])
}

/// As many snapshots as the specification allows, each stating a length of `extra` bytes.
fn snapshots(count: u32, extra: u32) -> Vec<u8> {
    let entry = [&[0u8; 36][..], &extra.to_be_bytes()].concat();
    let mut image = changed(
        small(),
        &[(60, &count.to_be_bytes()), (64, &(SNAPSHOTS as u64).to_be_bytes()), (SNAPSHOTS, &[0; MIB])],
    );
    for at in 0..MIB / 40 {
        image[SNAPSHOTS + at * 40..][..40].copy_from_slice(&entry);
    }
    image
}

/// An endless deflate stream of stored blocks of one byte.
fn endless() -> Vec<u8> {
    let block = [0u8, 1, 0, 0xfe, 0xff, 7];
    let stream: Vec<u8> = block.iter().copied().cycle().take(MIB).collect();
    let bits = 21;
    let cluster = 1usize << bits;
    let entry = COMPRESSED | 2047 << (62 - (bits - 8)) | (4 * cluster) as u64;
    let table = 3 * cluster;
    let head = &uniform(bits, table as u64, table, entry)[..4 * cluster];
    [head, &stream].concat()
}

/// A VDI of at least a megabyte with blocks of `block` bytes: all entries of the map are `entry`.
fn uniform_vdi(block: usize, entry: u32) -> Vec<u8> {
    const BLOCKS: usize = MIB / 4;
    let image = Vdi::new(block, &[Block::Free; BLOCKS]);
    let (map, end) = (image.map(), image.data() + MIB);
    changed(image.file(), &[(map, &entry.to_le_bytes().repeat(BLOCKS)), (end - 1, &[0])])
}

/// A QED with clusters of 64 KiB and tables of 1 MiB: all entries of the L1 table are `l1`, all of the following L2
/// table `l2`.
fn uniform_qed(l1: u64, l2: u64) -> Vec<u8> {
    let cluster = 64 << 10;
    changed(
        vec![0; cluster + 2 * MIB + cluster],
        &[
            (0, b"QED\0"),
            (4, &(cluster as u32).to_le_bytes()),
            (8, &16u32.to_le_bytes()),
            (12, &1u32.to_le_bytes()),
            (40, &(cluster as u64).to_le_bytes()),
            (48, &(1u64 << 50).to_le_bytes()),
            (cluster, &l1.to_le_bytes().repeat(MIB / 8)),
            (cluster + MIB, &l2.to_le_bytes().repeat(MIB / 8)),
        ],
    )
}

/// (what, the outcome of a conversion that is cancelled after some thousand reads, the image)
fn hostile_images() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let exabytes = |size: u64| changed(small(), &[(24, &size.to_be_bytes()), (MIB, &[0])]);
    let table_64k = 2 * MIB;
    let qed_table = (64 << 10) + MIB as u64;
    vec![
        ("all of L1 at one L2 table of nothing", "cancelled", uniform(16, table_64k as u64, table_64k, 0)),
        ("all of L1 at one L2 table of zeros", "cancelled", uniform(16, table_64k as u64, table_64k, 1)),
        ("L2 entries that point at their table", "corrupt", uniform(16, table_64k as u64, table_64k, table_64k as u64)),
        // Those of 512 bytes take between 500 and 3,000 reads.
        (
            "one data cluster of 512 bytes for all",
            by_scope("cancelled", "done", "done"),
            uniform(9, 2 << 20, 2 << 20, (2 << 20) + 512),
        ),
        ("one data cluster of 2 MiB for all", "cancelled", uniform(21, 3 << 21, 3 << 21, 4 << 21)),
        ("one compressed cluster of 512 bytes", by_scope("cancelled", "done", "done"), one_compressed_cluster(9)),
        ("one compressed cluster of 64 KiB", "cancelled", one_compressed_cluster(16)),
        ("one compressed cluster of 2 MiB", "cancelled", one_compressed_cluster(21)),
        ("compressed data without an end", "corrupt", endless()),
        ("a VDI of free blocks of 2 GiB", "done", uniform_vdi(1 << 31, FREE)),
        ("a VDI of one block of 1 MiB", "cancelled", uniform_vdi(1 << 20, 0)),
        ("a VDI of one block of 512 bytes", "done", uniform_vdi(512, 0)),
        ("a VDI whose blocks lie past the end", "corrupt", uniform_vdi(1 << 20, 0xffff_fff0)),
        ("a QED without L2 tables", "done", uniform_qed(0, 0)),
        ("a QED with one L2 table of nothing", "cancelled", uniform_qed(qed_table, 0)),
        ("a QED whose L2 entries point at their table", "corrupt", uniform_qed(qed_table, qed_table)),
        ("8 EiB", "limit", exabytes((1 << 63) - 512)),
        ("16 EiB", "limit", exabytes(u64::MAX)),
        ("2^53 bytes", "limit", exabytes(1 << 53)),
        ("an L1 table of 4 G entries", "limit", changed(small(), &[(36, &u32::MAX.to_be_bytes()), (MIB, &[0])])),
        ("snapshots without end", "limit", snapshots(u32::MAX, 0)),
        ("snapshots with enormous extra data", "corrupt", snapshots(60_000, u32::MAX)),
        ("a long list of snapshots", "done", snapshots(20_000, 0)),
        ("its own backing file", "corrupt", changed(overlay("image.qcow2", Some("qcow2")), &[(MIB, &[0])])),
        (
            "a header extension without end",
            "corrupt",
            changed(small(), &[(104, &[1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff]), (MIB, &[0])]),
        ),
        (
            "bitmaps and features by the thousand",
            "done",
            changed(small(), &[(104, &[[0x68, 3, 0xf8, 0x57, 0, 0, 0, 0]; 50].concat())]),
        ),
    ]
}

/// (what, the outcomes of a conversion and of a salvage, the image): VMDKs with as many structures as possible.
fn hostile_vmdks() -> Vec<(&'static str, [&'static str; 2], Vec<u8>)> {
    use vmdk::{Kdmv, Packing, SECTOR, descriptor, few_grains};
    let plain = Kdmv::default().build(&few_grains());
    let stream = |footer| Kdmv { version: 3, packing: Packing::Marked, footer, ..Kdmv::default() }.build(&few_grains());
    let head = &stream(true)[..vmdk::TABLES];
    let filled = |head: &[u8], byte: u8| [head, &vec![byte; MIB - head.len()]].concat();
    let mut table_marker = [0; SECTOR];
    table_marker[12] = 1;
    let capacity = ((1u64 << 44) - 1).to_le_bytes();
    let huge: Patch = &[(12, &capacity), (20, &1u64.to_le_bytes()), (44, &1u32.to_le_bytes())];
    let many_entries: Patch = &[(12, &capacity), (44, &65_536u32.to_le_bytes())];
    let lost_footer: Patch = &[(56, &[0xff; 8])];
    let line = "RW 1 FLAT \"a.bin\" 0\n";
    vec![
        ("a directory of the whole file", ["corrupt", "done"], changed(filled(&plain, 0), huge)),
        ("tables everywhere", ["corrupt", "done"], changed(filled(&plain, 1), huge)),
        ("tables of many entries", ["corrupt", "done"], changed(filled(&plain, 1), many_entries)),
        ("compressed", ["corrupt", "done"], changed(filled(&stream(false), 2), huge)),
        ("markers", ["corrupt", "done"], filled(&changed(head.to_vec(), lost_footer), 1)),
        ("markers of tables", ["corrupt", "done"], [head, &table_marker.repeat(MIB / SECTOR), &[1; SECTOR]].concat()),
        ("padding", ["corrupt", "corrupt"], filled(&changed(plain, lost_footer), 0)),
        (
            "extents",
            ["missing-file", "missing-file"],
            filled(descriptor("custom", &line.repeat(4000)).as_bytes(), b'\n'),
        ),
        ("lines", ["corrupt", "corrupt"], filled(b"# Disk DescriptorFile\n", b'\n')),
        ("a long line", ["missing-file", "missing-file"], filled(b"version=1\nRW 1 FLAT \"", b'"')),
        ("one line of spaces", ["limit", "limit"], [filled(b"version=1\n", b' '), b"\n".to_vec()].concat()),
    ]
}

/// A check reads each table once or twice, however often the image refers to it.
#[test]
fn a_check_of_a_hostile_image_reads_little() {
    let _alone = alone();
    let vmdks = hostile_vmdks().into_iter().map(|(what, _, image)| (what, image));
    for (what, bytes) in hostile_images().into_iter().map(|(what, _, image)| (what, image)).chain(vmdks) {
        let size = bytes.len() as u64;
        let (reads, read, cancel_at) = (Cell::new(0), Cell::new(0), Cell::new(u64::MAX));
        let source = Rc::new(Counted { bytes, reads, read, cancel: Rc::default(), cancel_at });
        let Ok(image) = block_on(Image::open(source.clone(), &OpenOptions::default())) else { continue };
        let before = source.read.get();
        let _ = block_on(image.check_file(CheckProgress::new(|_| ())));
        let read = source.read.get() - before;
        assert!(read <= 4 * size, "{what}: {read} bytes of {size}");
    }
}

/// The cost of opening an image and of a conversion that is cancelled after some reads.
struct Cost {
    /// Reads, and bytes read, until it is opened or refused.
    opening: (u64, u64),
    peak: usize,
    outcome: &'static str,
    /// Reads after the one that cancelled.
    reads_after: u64,
}

fn cost(image: &[u8], salvage: bool, cancel_after: u64) -> Cost {
    let cancel = Rc::new(Cancel::default());
    let source = Rc::new(Counted {
        bytes: image.to_vec(),
        reads: Cell::new(0),
        read: Cell::new(0),
        cancel: cancel.clone(),
        cancel_at: Cell::new(u64::MAX),
    });
    PEAK.store(HELD.load(Relaxed), Relaxed);
    let idle = HELD.load(Relaxed);
    let options = OpenOptions { name: Some("image.qcow2".to_owned()), salvage, ..OpenOptions::default() };
    let opened = block_on(async {
        let image = Image::open(source.clone(), &options).await?;
        image.info();
        image.survey().await?;
        Ok::<_, decant::Error>(image)
    });
    let opening = (source.reads.get(), source.read.get());
    source.cancel_at.set(opening.0.saturating_add(cancel_after));
    let outcome = match opened {
        Err(error) => error.kind.name(),
        Ok(image) => {
            let executor = Inline::new(image.files().clone(), image.keys(), 6, 4 << 20);
            let target = in_order();
            let layout = layout(&OUTPUT_FORMATS[0], image.virtual_size()).unwrap();
            let output = Output::new(&*layout, Stamp::default(), &target);
            match block_on(convert(&image, &executor, &output, &|_| {}, &cancel)) {
                Ok(_) => "done",
                Err(error) => {
                    assert!(target.is_aborted.get());
                    error.kind.name()
                }
            }
        }
    };
    let reads_after = source.reads.get().saturating_sub(source.cancel_at.get());
    Cost { opening, peak: PEAK.load(Relaxed) - idle, outcome, reads_after }
}

#[test]
fn hostile_images_cost_little_and_can_be_ended() {
    let _alone = alone();
    for (name, expected, image) in hostile_images() {
        let begun = Instant::now();
        // Conversions that end without a cancel take fewer reads than that. The others run almost forever.
        let Cost { opening: (reads, read), peak, outcome, reads_after } =
            cost(&image, false, by_scope(500, 3000, 3000));
        println!(
            "{name}: {outcome}, opened by {reads} reads of {read} bytes, at most {peak} bytes held, {:?}",
            begun.elapsed()
        );
        assert_eq!(outcome, expected, "{name}");
        assert!(peak < MEMORY, "{name}: {peak} bytes");
        assert!(reads <= 2500 && read <= 32 * MIB as u64, "{name}: {reads} reads of {read} bytes");
        assert!(reads_after <= 8, "{name}: {reads_after} reads after the cancel");
    }
}

#[test]
fn a_conversion_can_be_ended_at_every_read() {
    let _alone = alone();
    let image = one_compressed_cluster(16);
    for after in 1..12 {
        let Cost { outcome, reads_after, .. } = cost(&image, false, after);
        assert!(outcome == ErrorKind::Cancelled.name() && reads_after <= 8, "{after}: {outcome}, {reads_after}");
    }
}

/// Every second cluster of 512 bytes is after the end of the file: four million ranges are lost.
#[test]
fn losses_without_number_cost_little() {
    let _alone = alone();
    let table = 2 * MIB;
    let mut image = uniform(9, table as u64, table, 1);
    for at in (0..64).step_by(2) {
        image[table + at * 8..][..8].copy_from_slice(&(COMPRESSED | 1 << 40).to_be_bytes());
    }
    let Cost { peak, outcome, .. } = cost(&image, true, u64::MAX);
    assert_eq!(outcome, "done");
    // The memory of the jobs in flight, and the list.
    assert!(peak < 8 * MIB, "{peak} bytes");
}

#[test]
fn hostile_vmdks_cost_little_and_can_be_ended() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (name, expected, image) in hostile_vmdks() {
        let costs = [false, true].map(|salvage| cost(&image, salvage, 3000));
        for Cost { opening: (reads, read), peak, reads_after, .. } in &costs {
            let is_little = *peak < MEMORY && *reads <= 2500 && *read <= 32 * MIB as u64 && *reads_after <= 8;
            assert!(is_little, "{name}: {reads} reads of {read} bytes, {reads_after} after the end, {peak} bytes held");
        }
        let outcomes = costs.map(|cost| cost.outcome);
        if outcomes != expected {
            wrong.push((name, outcomes));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Extents with paths as names: the cost of each does not depend on their number.
#[test]
fn extents_cost_the_same_however_many_there_are() {
    let _alone = alone();
    let allocations = |count: usize| {
        let lines: String = (0..count).map(|at| format!("RW 1 FLAT \"part/./{at}/disk.bin\"\n")).collect();
        let companion = |at: usize| (format!("part/{at}/disk.bin"), vec![at as u8; vmdk::SECTOR]);
        let case = Case {
            companions: (0..count).rev().map(companion).collect(),
            ..Case::new(vmdk::descriptor("custom", &lines).into_bytes())
        };
        let before = ALLOCATIONS.load(Relaxed);
        let disk = case.bytes().unwrap();
        let after = ALLOCATIONS.load(Relaxed);
        assert!(disk.chunks(vmdk::SECTOR).enumerate().all(|(at, sector)| sector == [at as u8; vmdk::SECTOR]));
        after - before
    };
    let (few, many) = (allocations(250), allocations(1000));
    assert!(many < 5 * few, "{few} allocations for 250 extents, {many} for 1000");
}
