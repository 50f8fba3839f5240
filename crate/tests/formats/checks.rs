//! The checks of the suite.

use super::{Extreme, Listing, Sample, Spare};
use crate::common::random::Random;
use crate::common::salvage::{salvage, without};
use crate::common::*;
use decant::disk::extent::ExtentKind;
use decant::offsets::GuestOffset;
use decant::{ErrorKind, Image, OpenOptions};
use std::collections::BTreeSet;
use std::ops::Range;

/// The lengths to which `sample` is cut, in ascending order: around the ends of its tables, and at regular distances.
fn lengths(sample: &Sample) -> Vec<usize> {
    const HEAD: usize = 1024;
    let end = sample.file.len();
    let close = sample.step.min(by_scope(31, 8, 8));
    let far = sample.step * by_scope(if sample.step == 1 { 211 } else { 7 }, 1, 1);
    let around = |at: usize| [at.saturating_sub(1), at, at + 1];
    let mut lengths: BTreeSet<usize> = (0..HEAD.min(end)).step_by(close).chain((HEAD..end).step_by(far)).collect();
    lengths.extend(sample.tables.iter().flat_map(|table| [table.start, table.end]).flat_map(around));
    lengths.extend(around(sample.signature.0).into_iter().chain(around(end)));
    if let Spare::Exactly(spare) = sample.spare {
        lengths.extend(around(end - spare));
    }
    lengths.retain(|len| *len < end && !sample.also_whole.contains(len));
    lengths.into_iter().collect()
}

/// A truncated file never reads as zeros: it is refused as truncated, or has all needed bytes. A salvage has every byte
/// that it does not list as lost.
pub fn truncation(format: &str, samples: Vec<Sample>) {
    for sample in samples {
        let Sample { what, file, disk, .. } = &sample;
        assert!((sample.case)(file.clone()).bytes().as_ref() == Ok(disk), "{format}, {what}: it is not whole");
        let salvaged_once_in =
            by_scope(7, if sample.step == 1 { 97 } else { 13 }, if sample.step == 1 { 13 } else { 1 });
        let mut was_whole = false;
        for (number, len) in lengths(&sample).into_iter().enumerate() {
            let name = format!("{format}, {what}: the first {len} of {} bytes", file.len());
            let case = (sample.case)(file[..len].to_vec());
            let refused = case.bytes().map(|found| assert!(found == *disk, "{name}: other bytes")).err();
            match &refused {
                None => {
                    assert!(sample.may_be_whole(len), "{name}: what is missing is not noticed");
                    was_whole = true;
                }
                Some(error) if len < sample.signature.0 => {
                    assert_eq!(error.kind, sample.signature.1, "{name}: {error}")
                }
                Some(error) => {
                    let is_noticed = error.kind == ErrorKind::Corrupt && error.message().contains("truncated");
                    assert!(is_noticed, "{name}: {error}");
                    // An unneeded end of a file may be missed if it is cut, but not if it is absent.
                    assert!(!was_whole || sample.spare != Spare::Unknown, "{name}: fewer bytes were enough");
                }
            }
            if number % salvaged_once_in == 0 && sample.salvaged.contains(&len) {
                let (left, lost) = salvage(&case).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(left == without(disk, &lost), "{name}: other bytes are salvaged");
                assert!(refused.is_some() || lost.is_empty(), "{name}: {lost:?}");
            }
        }
    }
}

/// Bytes of headers and tables set to random values: conversions must end soon, without a panic.
pub fn random_changes(format: &str, samples: Vec<Sample>) {
    // A disk that fits into memory is converted too.
    const LARGEST: u64 = 1 << 20;
    changed_at_random(
        format,
        &samples,
        |case| {
            if extents_of(case)? <= LARGEST { case.bytes().map(drop) } else { Ok(()) }
        },
    );
}

/// As above for containers, which reveal nothing about the disk before it is read.
pub fn random_changes_of_containers(container: &str, samples: Vec<Sample>) {
    changed_at_random(container, &samples, |case| case.bytes().map(drop));
}

fn changed_at_random(format: &str, samples: &[Sample], run: impl Fn(&Case) -> decant::Result<()>) {
    let samples: Vec<_> = samples.iter().filter(|sample| !sample.tables.is_empty()).collect();
    let narrow = cfg!(target_pointer_width = "32");
    // A file of MiB is copied and checked for a thousand times as long as one of KiB.
    let most_mib = samples.iter().map(|sample| sample.file.len() >> 20).max().unwrap_or(0) as u64;
    let rounds =
        by_scope(1_500 / (1 + most_mib).min(5), 20_000, if narrow { 200_000 } else { 2_000_000 } / (1 + most_mib));
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let sample = random.pick(&samples);
        let mut file = sample.file.clone();
        for _ in 0..1 + random.below(4) {
            let table = &sample.tables[random.below(sample.tables.len())];
            file[table.start + random.below(table.len())] = random.byte();
        }
        let can_be_salvaged = !sample.salvaged.is_empty();
        let case = Case { salvage: can_be_salvaged && random.below(4) == 0, ..(sample.case)(file) };
        if let Err(error) = run(&case) {
            let is_clear = error.kind != ErrorKind::Internal && !error.message().is_empty();
            assert!(is_clear, "{format}, {}: {error}", sample.what);
        }
    }
}

/// Lists the first extents of the disk and returns its size.
fn extents_of(case: &Case) -> decant::Result<u64> {
    const MOST_STEPS: usize = 100;
    case.with(Answers::InOrder, |image| async move {
        let (mut walk, mut extents, mut steps) = (image.extents()?, Vec::new(), 0);
        while steps < MOST_STEPS && walk.next(&mut extents).await? {
            extents.clear();
            steps += 1;
        }
        Ok(image.virtual_size())
    })
}

/// No part of a table is read twice while extents are listed, and it takes few reads.
pub fn listings(format: &str, listings: Vec<Listing>) {
    /// Larger disks are not converted.
    const LARGEST: u64 = 128 << 20;
    for Listing { what, file, data, most_extents, tables, most_reads, most_bytes } in listings {
        let name = format!("{format}, {what}");
        let source = HeldSource::new(file);
        let extents = source.extents();
        let with_data = extents.iter().filter(|extent| extent.has_data()).map(|extent| extent.len).sum::<u64>();
        assert_eq!(with_data, data, "{name}: bytes of data");
        assert!(extents.len() <= most_extents, "{name}: {} extents", extents.len());
        let reads = source.reads.take();
        let bytes = reads.iter().map(|(_, len)| len).sum::<u64>();
        assert!(reads.len() <= most_reads && bytes <= most_bytes, "{name}: {bytes} bytes by {reads:?}");
        assert_tables_are_read_once(&name, &tables, &reads);
        if extents.last().is_some_and(|extent| extent.end().0 <= LARGEST) {
            for answers in ANSWERS {
                let converted = Case::new(source.content()).convert(answers, Default::default(), 1 << 20);
                converted.result.unwrap();
                assert_tables_are_read_once(&format!("{name}, {answers:?}"), &tables, &converted.source.reads.take());
            }
        }
    }
}

/// A read of data may pass over a table; no other read may repeat a part of one.
fn assert_tables_are_read_once(name: &str, tables: &[Range<u64>], reads: &[(u64, u64)]) {
    let begins_in_one = |(start, _): &&(u64, u64)| tables.iter().any(|table| table.contains(start));
    let own: Vec<_> = reads.iter().filter(begins_in_one).collect();
    for table in tables {
        let within = |start: u64, len: u64| start.max(table.start)..(start + len).min(table.end);
        let mut parts: Vec<_> =
            own.iter().map(|&&(start, len)| within(start, len)).filter(|part| !part.is_empty()).collect();
        parts.sort_by_key(|part| part.start);
        assert!(parts.windows(2).all(|two| two[0].end <= two[1].start), "{name}: {table:?} is read by {parts:?}");
        let mut read = table.start;
        let mut all: Vec<_> = reads.iter().map(|&(start, len)| within(start, len)).collect();
        all.sort_by_key(|part| part.start);
        for part in all.iter().filter(|part| part.start <= part.end) {
            if part.start <= read {
                read = read.max(part.end);
            }
        }
        assert_eq!(read, table.end, "{name}: {table:?} is read by {parts:?}");
    }
}

/// A disk of any size without tables is refused, and a salvage lists all of it as lost at little cost.
pub fn extremes(format: &str, extremes: Vec<Extreme>) {
    const MOST_READS: usize = 64;
    for Extreme { what, file, size } in extremes {
        let name = format!("{format}, {what}");
        let open = |salvage: bool| {
            let source = HeldSource::new(file.clone());
            let reading = source.clone();
            let options = OpenOptions { salvage, ..OpenOptions::default() };
            let work = async move {
                let image = Image::open(reading, &options).await?;
                let (mut walk, mut extents) = (image.extents()?, Vec::new());
                while walk.next(&mut extents).await? {}
                Ok::<_, decant::Error>((image.virtual_size(), extents))
            };
            let result = drive(&source, Answers::InOrder, work).expect("it waits for nothing");
            (result, source.reads.take().len())
        };
        let (refused, _) = open(false);
        let (salvaged, reads) = open(true);
        match size {
            Err(kind) => {
                for error in [refused.unwrap_err(), salvaged.unwrap_err()] {
                    assert_eq!(error.kind, kind, "{name}: {error}");
                }
            }
            Ok(0) => assert_eq!((refused.unwrap().0, salvaged.unwrap().0), (0, 0), "{name}"),
            Ok(size) => {
                let error = refused.err().unwrap_or_else(|| panic!("{name}: it is not refused"));
                let is_past_the_end =
                    ["truncated", "far beyond the end"].iter().any(|part| error.message().contains(part));
                assert!(error.kind == ErrorKind::Corrupt && is_past_the_end, "{name}: {error}");
                let (found, extents) = salvaged.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(found, size, "{name}");
                let mut end = GuestOffset(0);
                for extent in &extents {
                    assert_eq!(extent.start, end, "{name}: a gap");
                    assert!(matches!(extent.kind, ExtentKind::Lost(_)), "{name}: {extent:?}");
                    end = extent.end();
                }
                assert_eq!(end.0, size, "{name}: all of the disk is lost");
                assert!(extents.len() <= 64 && reads <= MOST_READS, "{name}: {} extents, {reads} reads", extents.len());
            }
        }
    }
}
