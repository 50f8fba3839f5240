//! Opens, describes, lists and converts an image, in several ways, and checks that they agree.

use super::conversion::convert;
use super::files::Files;
use super::memory::{Disk, Memory};
use super::reference;
use decant::convert::{Cancel, Output};
use decant::disk::extent::{Extent, ExtentKind};
use decant::disk::file_check::CheckProgress;
use decant::io::source::Source;
use decant::native::Inline;
use decant::open::chain::Companion;
use decant::output::{BLOCK, OUTPUT_FORMATS, Options, Stamp};
use decant::{Error, ErrorKind, Image, OpenOptions};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::ready;
use std::cell::Cell;
use std::rc::Rc;

/// The progress of an image.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub opened: bool,
    /// Whether clusters were read.
    pub read: bool,
    /// Whether it was converted, and compared with the reference.
    pub converted: bool,
    pub compared: bool,
}

/// Maximum number of batches of extents; larger images are not examined further.
const MOST_BATCHES: usize = 64;
/// The number of reports after which unlocking is cancelled.
const MOST_RESTS: u32 = 20;

fn open(files: &Files, salvage: bool, snapshot: Option<String>) -> Result<Image, Error> {
    let companion = |(name, bytes): &(String, Vec<u8>)| Companion {
        source: Rc::new(Memory(bytes.clone())),
        name: name.clone(),
        stands_for: None,
        is_image: false,
    };
    let options = OpenOptions {
        name: Some("image.qcow2".to_owned()),
        companions: files.companions.iter().map(companion).collect(),
        snapshot,
        salvage,
        ..OpenOptions::default()
    };
    let source: Rc<dyn Source> = Rc::new(Memory(files.image.clone()));
    let image = block_on(Image::open(source, &options))?;
    if let Some(password) = &files.password {
        let rests = Rc::new(Cell::new(0));
        let rest = move |_| {
            rests.set(rests.get() + 1);
            let enough = rests.get() > MOST_RESTS;
            ready(if enough { Err(Error::new(ErrorKind::Cancelled, "Enough")) } else { Ok(()) }).boxed_local()
        };
        // A wrong password leaves the image locked.
        while image.is_locked() && block_on(image.unlock_next(password, true, &rest)).is_ok() {}
    }
    Ok(image)
}

/// Converts an image with jobs of one size and compares it with the reference. Panics if it has other bytes.
pub fn compare_once(files: &Files) -> Seen {
    let Ok(image) = open(files, false, None) else { return Seen::default() };
    let mut seen = Seen { opened: true, ..Seen::default() };
    if let [(Ok(disk), read)] = &convert_if_small(&image, &[64 << 10])[..] {
        (seen.read, seen.converted) = (*read, true);
        seen.compared = matches_reference(files, disk);
    }
    seen
}

/// Runs all operations of an image. Panics if a result is wrong.
pub fn examine(files: &Files) -> Seen {
    let mut seen = Seen::default();
    let Ok(image) = open(files, false, None) else {
        // Refused images may be salvaged.
        if let Ok(image) = open(files, true, None) {
            convert_if_small(&image, &[64 << 10]);
        }
        return seen;
    };
    seen.opened = true;
    let info = image.info();
    block_on(image.survey()).expect("nothing fails but for damage");
    // A check may meet a limit, and never panics.
    let _ = block_on(image.check_file(CheckProgress::new(|_| ())));
    let results = convert_if_small(&image, &[64 << 10, 4 << 10]);
    seen.read = results.iter().any(|(_, read)| *read);
    if let [(whole, _), (pieces, _)] = &results[..] {
        compare(whole, pieces);
    }
    if let Some((Ok(disk), _)) = results.first() {
        seen.converted = true;
        seen.compared = matches_reference(files, disk);
        // Nothing is lost of an undamaged image.
        if let Ok(salvaging) = open(files, true, None) {
            let salvaged = convert_if_small(&salvaging, &[64 << 10]);
            let Some((Ok(salvaged), _)) = salvaged.first() else { panic!("what is whole cannot be salvaged") };
            assert!(salvaged.blocks == disk.blocks, "salvage has other bytes");
        }
    } else if let Ok(salvaging) = open(files, true, None) {
        convert_if_small(&salvaging, &[64 << 10]);
    }
    if let Some(snapshot) = info.snapshots.first()
        && let Ok(image) = open(files, false, Some(snapshot.id.clone()))
    {
        convert_if_small(&image, &[64 << 10]);
    }
    seen
}

pub type Attempt = (Result<Disk, Error>, bool);

/// Converts `image` with jobs of each of `sizes`, unless it has too many extents.
pub fn convert_if_small(image: &Image, sizes: &[u64]) -> Vec<Attempt> {
    if !list(image) {
        return Vec::new();
    }
    sizes.iter().map(|&size| attempt(image, size)).collect()
}

fn attempt(image: &Image, job: u64) -> Attempt {
    let disk = Disk::default();
    let executor = Inline::new(image.files().clone(), image.keys(), 3, job);
    let read = Cell::new(false);
    let progress = |progress: decant::convert::Progress| read.set(read.get() || progress.read > 0);
    let format = &OUTPUT_FORMATS[0];
    let layout = (format.layout)(image.virtual_size(), &Options::recommended(format)).expect("a raw disk has any size");
    let output = Output::new(&*layout, Stamp::default(), &disk);
    let result = block_on(convert(image, &executor, &output, &progress, &Cancel::default()));
    let result = result.map(|done| {
        assert_eq!(done.progress.guest_done, image.virtual_size());
        assert!(image.is_salvaged() || done.disks[0].lost.ranges == 0);
    });
    (settled(result, disk), read.get())
}

/// The disk, if it was converted.
pub fn settled(result: Result<(), Error>, disk: Disk) -> Result<Disk, Error> {
    match result {
        Ok(()) => {
            assert!(disk.finished.get(), "a conversion was not completed");
            Ok(disk)
        }
        Err(error) => {
            assert!(!disk.finished.get(), "a failed conversion was completed");
            assert!(error.kind != ErrorKind::Internal && !error.message().is_empty(), "{error}");
            Err(error)
        }
    }
}

/// Lists the extents and checks that they cover the disk. Returns whether the list was completed.
fn list(image: &Image) -> bool {
    let Ok(mut extents) = image.extents() else { return false };
    let mut covered = 0;
    for _ in 0..MOST_BATCHES {
        let mut batch: Vec<Extent> = Vec::new();
        match block_on(extents.next(&mut batch)) {
            Ok(true) => {}
            Ok(false) => {
                assert_eq!(covered, image.virtual_size(), "extents do not cover the disk");
                return true;
            }
            Err(_) => return true,
        }
        for extent in batch {
            assert!(extent.start.0 == covered && extent.len > 0, "a gap before {extent:?}");
            covered = extent.end().0;
            if let ExtentKind::Data { file, host, .. } = extent.kind {
                let size = image.files()[usize::from(file.0)].size();
                assert!(host.0 + extent.len <= size, "past the end of the file: {extent:?}");
            }
        }
    }
    false
}

/// Both succeed or fail; of several errors, they may return different ones.
fn compare(whole: &Result<Disk, Error>, pieces: &Result<Disk, Error>) {
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => assert!(whole.blocks == pieces.blocks, "other bytes from smaller jobs"),
        (Err(_), Err(_)) => {}
        (Err(error), _) | (_, Err(error)) => panic!("only with one size of jobs: {error}"),
    }
}

/// Compares all written bytes, and a part of the others. Returns whether the reference supports the image.
fn matches_reference(files: &Files, disk: &Disk) -> bool {
    const SECTOR: usize = 512;
    const MOST_HOLES: u64 = 64;
    let Some(reference) = reference::open(files) else { return false };
    assert_eq!(reference.size(), disk.len.get());
    let blocks = disk.blocks.borrow();
    let first = (0..reference.size().div_ceil(BLOCK)).take(MOST_HOLES as usize);
    for number in first.chain(blocks.keys().copied()) {
        let start = number * BLOCK;
        let len = (reference.size() - start).min(BLOCK) as usize;
        let zeros = vec![0; len];
        let block = blocks.get(&number).unwrap_or(&zeros);
        for (at, sector) in block.chunks(SECTOR).enumerate() {
            let expected = reference.read(start + (at * SECTOR) as u64, sector.len());
            assert!(
                expected.as_deref() == Some(sector),
                "other bytes than the reference at sector {at} of block {number}"
            );
        }
    }
    true
}
