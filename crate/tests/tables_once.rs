//! The image keeps headers and tables: no pass or partial read fetches them again.

use crate::common::vdi::{Block, Vdi};
use crate::common::vmdk::{Grain, Kdmv, Packing, SECTOR, disk, pattern};
use crate::common::*;
use decant::convert::read;
use decant::offsets::GuestRange;
use decant::{Image, OpenOptions};
use std::rc::Rc;

/// A disk of many tables, all of them in use: (what, image).
fn images() -> Vec<(&'static str, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut images = Vec::new();
    // Clusters of 4 KiB: an L2 table of qcow2 describes 2 MiB.
    for (what, format, options) in [
        ("qcow2", "qcow2", "cluster_size=4k,preallocation=metadata"),
        ("qcow2 with subclusters", "qcow2", "cluster_size=16k,extended_l2=on"),
        ("QED", "qed", "cluster_size=4k"),
        ("Parallels", "parallels", "cluster_size=4k"),
    ] {
        qemu("qemu-img", &["create", "-q", "-f", format, "-o", options, text(&path), "32M"]);
        let writes: Vec<String> = (0..16).map(|at| format!("write -q -P {} {}M 100k", at + 1, 2 * at)).collect();
        let args: Vec<&str> = writes.iter().flat_map(|write| ["-c", write]).chain([text(&path)]).collect();
        qemu("qemu-io", &[&["-f", format], &args[..]].concat());
        images.push((what, std::fs::read(&path).unwrap()));
    }
    let grains: Vec<Grain> = (0..4000u32).map(|at| Grain::Data(pattern(at as u8, SECTOR))).collect();
    let kdmv = Kdmv { grain: 1, capacity: 4000, table_entries: 512, ..Kdmv::default() };
    images.push(("VMDK", Kdmv { redundant: true, ..kdmv.clone() }.build(&grains)));
    images.push(("a stream", Kdmv { packing: Packing::Marked, footer: true, ..kdmv }.build(&grains)));
    images.push(("VDI", Vdi::new(512, &[Block::Data(1); 4000]).file()));
    images
}

#[test]
fn passes_read_no_table_twice() {
    for (what, image) in images() {
        for answers in ANSWERS {
            let source = HeldSource::new(image.clone());
            let reading = source.clone();
            let work = async move {
                let image = Image::open(reading, &OpenOptions::default()).await.unwrap();
                let first = all_extents(&image).await;
                let survey = image.survey().await.unwrap();
                assert!(survey.is_empty(), "{survey:?}");
                assert_eq!(all_extents(&image).await, first);
            };
            drive(&source, answers, work).unwrap();
            // Includes the reads that identify the file.
            let reads = source.reads.borrow();
            assert!(!reads.is_empty(), "{what}");
            assert_eq!(read_twice(&reads), 0, "{what}, {answers:?}: {reads:?}");
        }
    }
}

/// Small reads, forwards and backwards: only the first read that needs a table or header fetches it.
#[test]
fn reads_of_parts_keep_the_tables() {
    for (what, image) in images() {
        let source = HeldSource::new(image);
        let reading = source.clone();
        let work = async move {
            let image = Image::open(reading.clone(), &OpenOptions::default()).await.unwrap();
            let size = image.virtual_size();
            let mut bytes = Vec::new();
            for round in 0..2 {
                let before = reading.reads.borrow().len();
                for at in [5, 3, 1, 7, 0, 6, 2, 4] {
                    let start = size / 8 * at;
                    bytes.push(read(&image, GuestRange::from(start..start + 512)).await.unwrap());
                }
                let reads = reading.reads.borrow().len() - before;
                // All reads of the second round are of data.
                assert!(round == 0 || reads == 8, "{what}: {reads} reads, {:?}", reading.reads.borrow());
            }
            assert!(bytes[..8] == bytes[8..], "{what}");
        };
        drive(&source, Answers::InOrder, work).unwrap();
    }
}

/// A stream without its footer has no directory: each pass reads all markers up to the requested range.
#[test]
fn reads_in_order_go_on_with_one_pass() {
    const GRAIN: usize = 8 * SECTOR;
    // Incompressible data, so that markers are far apart.
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let grains: Vec<Grain> = (0..4000).map(|_| Grain::Data((0..GRAIN).map(|_| noise()).collect())).collect();
    let kdmv = Kdmv { capacity: 32_000, packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let mut image = kdmv.build(&grains);
    let expected = Rc::new(disk(32_000, 8, &grains));
    image.truncate(image.len() - 2 * SECTOR);
    let len = image.len() as u64;
    let source = HeldSource::new(image);
    let (reading, size) = (source.clone(), expected.len() as u64);
    let work = async move {
        let options = OpenOptions { salvage: true, ..OpenOptions::default() };
        let image = Image::open(reading, &options).await.unwrap();
        for start in (0..size).step_by(64 << 10) {
            let end = (start + (64 << 10)).min(size);
            let bytes = read(&image, GuestRange::from(start..end)).await.unwrap();
            assert!(bytes == expected[start as usize..end as usize], "{start}");
        }
        // Backwards.
        let bytes = read(&image, GuestRange::from(5000..9000)).await.unwrap();
        assert!(bytes == expected[5000..9000]);
    };
    drive(&source, Answers::InOrder, work).unwrap();
    let read: u64 = source.reads.borrow().iter().map(|(_, len)| len).sum();
    // Its markers once, and its data once.
    assert!(read < len * 5 / 2, "{read} bytes of {len} were read");
}
