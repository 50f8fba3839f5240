//! Guest sums: what they say does not depend on the format of the disk, nor on how a conversion is divided into jobs.

use crate::common::each_run::{EachRun, put};
use crate::common::*;
use decant::convert::{Cancel, DiskSource, Output, ResumePoint, SUMMED, Summing, Sums, convert_disks, sums_of};
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::offsets::{GuestOffset, GuestRange};
use decant::output::by_name;
use decant::{Image, OpenOptions};
use std::cell::RefCell;
use std::rc::Rc;

const SEED: u64 = 7;

/// A disk with data, zeros and a last block that is not whole.
fn disk() -> Vec<u8> {
    let mut disk = vec![0; (3 << 20) + 1536];
    let mut fill = |start: usize, len: usize| {
        disk[start..start + len].iter_mut().enumerate().for_each(|(at, byte)| *byte = ((at * at) >> 9) as u8 | 1);
    };
    fill(512, 9000);
    fill((1 << 20) - 4096, 12_288);
    fill((3 << 20) - 512, 2048);
    disk
}

fn stated(is_raw: bool) -> OpenOptions {
    OpenOptions { format: is_raw.then(|| "raw".to_owned()), ..OpenOptions::default() }
}

/// Converts the raw `disk` to `format`, the first bytes of which an earlier conversion has written.
fn converted(disk: &[u8], format: &'static str, job: u64, begun: ResumePoint) -> (Sums, Vec<u8>) {
    let (source, file) = (HeldSource::new(disk.to_vec()), Rc::new(RefCell::new(vec![0; begun.guest.0 as usize])));
    let (reading, writing) = (source.clone(), file.clone());
    let work = async move {
        let image = Image::open(reading, &stated(true)).await?;
        let executor = Inline::new(image.files().clone(), image.keys(), 3, job);
        let layout = layout(by_name(format)?, image.virtual_size())?;
        let target = EachRun::new(Abilities { late_start: u64::MAX, ..Abilities::default() }, |offset, bytes| {
            put(&writing, offset, bytes)
        });
        let summing = Some(Summing { seed: SEED, discards: false });
        let output = Output { summing, ..Output::new(&*layout, STAMP, &target) };
        convert_disks(&[DiskSource::image(&image, &executor)], &output, begun, &|_| {}, &Cancel::default()).await
    };
    let mut done = drive(&source, Answers::Reverse, work).expect("it waits for nothing").unwrap();
    (done.disks.remove(0).sums, file.take())
}

/// The sums of `ranges` of the disk of `image`.
fn sums(image: &[u8], is_raw: bool, job: u64, ranges: Option<Vec<GuestRange>>) -> Sums {
    let source = HeldSource::new(image.to_vec());
    let reading = source.clone();
    let work = async move {
        let image = Image::open(reading, &stated(is_raw)).await?;
        let executor = Inline::new(image.files().clone(), image.keys(), 3, job);
        let disk = DiskSource::image(&image, &executor);
        let disk = match ranges {
            Some(ranges) => disk.within(&ranges),
            None => disk,
        };
        sums_of(disk, SEED, &|done| assert_eq!(done.written, 0), &Cancel::default()).await
    };
    let done = drive(&source, Answers::Reverse, work).expect("it waits for nothing").unwrap();
    done.sums
}

fn point(guest: u64) -> ResumePoint {
    let mut point = ResumePoint::default();
    point.guest = GuestOffset(guest);
    point
}

/// The sums by their definition, as bytes.
fn by_definition(disk: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, part) in disk.chunks(SUMMED as usize).enumerate() {
        let first = number as u64 * (SUMMED / 4096);
        let sum = decant_codec::sums::sum_of(part, first, SEED);
        if sum != 0 {
            bytes.extend((number as u64).to_le_bytes());
            bytes.extend(sum.to_le_bytes());
        }
    }
    bytes
}

#[test]
fn each_output_has_the_sums_of_the_disk() {
    let disk = disk();
    let expected = by_definition(&disk);
    assert_eq!(expected.len(), 4 * 24, "all MiB have data");
    for format in ["raw", "vpc", "vhdx", "vdi", "qcow2", "vmdk"] {
        for job in [4096, 40_960, 4 << 20] {
            let (done, output) = converted(&disk, format, job, ResumePoint::default());
            assert!(done.to_bytes().unwrap() == expected, "{format}, jobs of {job} bytes");
            let read_back = sums(&output, format == "raw", job, None);
            assert!(read_back == done, "{format} read back, jobs of {job} bytes");
        }
    }
}

#[test]
fn a_resumed_conversion_has_the_sums_of_the_whole_disk() {
    let disk = disk();
    for begun in [4096, 1 << 20, 5 << 18, disk.len() as u64] {
        let begun = point(begun);
        for format in ["raw", "vpc"] {
            let (done, _) = converted(&disk, format, 256 << 10, begun);
            assert!(done.to_bytes().unwrap() == by_definition(&disk), "{format} from {begun:?}");
        }
    }
}

#[test]
fn only_the_wanted_ranges_count() {
    let disk = disk();
    let (_, qcow2) = converted(&disk, "qcow2", 1 << 20, ResumePoint::default());
    let cases: &[&[(u64, u64)]] = &[
        &[],
        &[(0, 4096)],
        &[(0, 1), (4095, 4097)],
        &[(8192, 1 << 20), (3 << 20, disk.len() as u64)],
        &[(0, disk.len() as u64)],
    ];
    for ranges in cases {
        let mut wanted = vec![0; disk.len()];
        for &(start, end) in *ranges {
            let (start, end) = (start / 4096 * 4096, end.next_multiple_of(4096).min(disk.len() as u64));
            let range = start as usize..end as usize;
            wanted[range.clone()].copy_from_slice(&disk[range]);
        }
        let ranges: Vec<_> = ranges.iter().map(|&(start, end)| GuestRange::from(start..end)).collect();
        for (image, is_raw) in [(&disk, true), (&qcow2, false)] {
            let found = sums(image, is_raw, 64 << 10, Some(ranges.clone()));
            assert!(found.to_bytes().unwrap() == by_definition(&wanted), "{ranges:?}");
        }
    }
}
