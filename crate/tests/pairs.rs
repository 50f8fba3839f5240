//! A generated matrix of the four roles: source x format x output x target, each row with a small image. Registered
//! formats and outputs are included automatically. The scope `short` has each member once, `full` each pair of adjacent
//! roles, `long` all rows.

use crate::common::*;
use crate::outputs;
use decant::convert::{Cancel, Digest, DiskDigest, Output};
use decant::format;
use decant::io::target::{Abilities, Holes, Target};
use decant::native::Inline;
use decant::output::{BLOCK, OUTPUT_FORMATS, OutputFormat};
use decant::{Image, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::ready;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The size of the disk: neither a whole number of blocks nor of MiB.
pub const SIZE: usize = (3 << 20) + 1024;

/// The source: a file, or reads answered in the given order.
const SOURCES: [Option<Answers>; 4] = [None, Some(Answers::InOrder), Some(Answers::Reverse), Some(Answers::OneAtATime)];

/// The target: a file, or memory with these abilities.
const TARGETS: [Option<Abilities>; 7] = [
    None,
    Some(Abilities { ascending: false, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX }),
    Some(Abilities { ascending: true, holes: Holes::Skip, short_hole: 64 << 10, late_start: u64::MAX }),
    Some(Abilities { ascending: false, holes: Holes::Report, short_hole: 0, late_start: u64::MAX }),
    Some(Abilities { ascending: true, holes: Holes::Report, short_hole: 0, late_start: u64::MAX }),
    Some(Abilities { ascending: false, holes: Holes::WriteZeros, short_hole: 0, late_start: u64::MAX }),
    Some(Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: u64::MAX }),
];

/// Data at both ends, zeros in data, and a hole of a MiB and more.
pub fn disk() -> Vec<u8> {
    let mut disk: Vec<u8> = (0..SIZE).map(|at| (at / 5) as u8 | 1).collect();
    disk[100_000..180_000].fill(0);
    disk[1 << 20..SIZE - 5000].fill(0);
    disk
}

/// The disk as an image of `size` bytes has it: a few formats round the size up.
pub fn padded(disk: &[u8], size: u64) -> Vec<u8> {
    let zeros = size as usize - disk.len();
    [disk, &vec![0; zeros]].concat()
}

/// Further arguments of `qemu-img convert` for a format.
fn options(format: &str) -> &'static [&'static str] {
    match format {
        "qcow2" => &["-c"],
        "vmdk" => &["-o", "subformat=streamOptimized"],
        "luks" => &["--object", "secret,id=s,data=secret", "-o", "key-secret=s,iter-time=10"],
        _ => &[],
    }
}

/// An image of the disk in each format that is read, with the format's name.
pub fn images(folder: &Path, raw: &Path) -> Vec<(&'static str, PathBuf)> {
    let make = |format: &format::Format| {
        let path = folder.join(format!("image.{}", format.name));
        let args = [&["convert", "-f", "raw", "-O", format.name], options(format.name), &[text(raw), text(&path)]];
        qemu_img_for_luks(&args.concat());
        (format.name, path)
    };
    format::readable().map(make).collect()
}

struct Row<'a> {
    source: Option<Answers>,
    format: &'static str,
    image: &'a Path,
    writer: &'static OutputFormat,
    target: Option<Abilities>,
}

async fn run(
    source: Rc<dyn Source>,
    format: &str,
    writer: &'static OutputFormat,
    target: Rc<dyn Target<Vec<u8>>>,
) -> Result<(u64, DiskDigest)> {
    // Only the format raw must be stated.
    let format = (format == "raw").then(|| format.to_owned());
    let image = Image::open(source, &OpenOptions { format, ..OpenOptions::default() }).await?;
    while image.is_locked() {
        image.unlock_next(b"secret", false, &|_| ready(Ok(())).boxed_local()).await?;
    }
    let executor = Inline::new(image.files().clone(), image.keys(), 4, 256 << 10);
    let layout = layout(writer, image.virtual_size())?;
    let hasher = InlineHasher::new()?;
    let output = Output { digest: Some(Digest::Sha256(&hasher)), ..Output::new(&*layout, STAMP, &*target) };
    let converted = convert(&image, &executor, &output, &|_| {}, &Cancel::default()).await?;
    let digest = converted.disks[0].digest.expect("it was wanted");
    assert_eq!(digest.size, image.virtual_size());
    Ok((converted.output_size, digest))
}

impl Row<'_> {
    /// Converts the row and returns the output, whose size must be the one that was reported. The digest must be that of `disk`.
    fn convert(&self, scratch: &Path, disk: &[u8]) -> Vec<u8> {
        let memory = self.target.map(MemoryTarget::new);
        let target: Rc<dyn Target<Vec<u8>>> = match &memory {
            Some(target) => {
                target.expect(&*layout(self.writer, SIZE as u64).unwrap());
                target.clone()
            }
            None => Rc::new(FileTarget::new(File::create(scratch).unwrap())),
        };
        let done = match self.source {
            None => block_on(run(Rc::new(FileSource::open(self.image).unwrap()), self.format, self.writer, target)),
            Some(answers) => {
                let held = HeldSource::new(std::fs::read(self.image).unwrap());
                let work = run(held.clone(), self.format, self.writer, target);
                drive(&held, answers, work).expect("it waits for nothing")
            }
        };
        let output = memory.map_or_else(|| std::fs::read(scratch).unwrap(), |target| target.bytes.take());
        let (size, digest) = done.unwrap_or_else(|error| panic!("{self}: {error}"));
        assert_eq!(size, output.len() as u64, "{self}");
        assert_eq!(digest, digest_of(&padded(disk, digest.size)), "{self}");
        output
    }
}

impl std::fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {}, {}, {:?}", self.source, self.format, self.writer.name, self.target)
    }
}

/// Whether a row runs; `is_first` states for each role whether its member is the first one.
fn is_in_scope(is_first: [bool; 4]) -> bool {
    // Two adjacent roles have any of their members, the others their first one.
    let meets = (0..3).any(|at| (0..4).all(|role| is_first[role] || role == at || role == at + 1));
    let others = is_first.iter().filter(|is_first| !**is_first).count();
    by_scope(others <= 1, meets, true)
}

#[test]
fn every_pair_makes_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, scratch) = (folder.path().join("disk.raw"), folder.path().join("out"));
    let disk = disk();
    std::fs::write(&raw, &disk).unwrap();
    let images = images(folder.path(), &raw);
    let mut rows = 0;
    for source in SOURCES {
        for (format, image) in &images {
            for writer in OUTPUT_FORMATS {
                for target in TARGETS {
                    let is_first = [
                        source == SOURCES[0],
                        *format == images[0].0,
                        writer.name == OUTPUT_FORMATS[0].name,
                        target == TARGETS[0],
                    ];
                    if !is_in_scope(is_first) {
                        continue;
                    }
                    let row = Row { source, format, image, writer, target };
                    let made = (outputs::entry(writer.name).read)(&row.convert(&scratch, &disk), SIZE + 4096);
                    assert!(made.starts_with(&disk), "{row}: other bytes");
                    assert!(made[SIZE..].iter().all(|&byte| byte == 0), "{row}: no zeros after the disk");
                    rows += 1;
                }
            }
        }
    }
    println!("{rows} rows, {} formats, {} writers", images.len(), OUTPUT_FORMATS.len());
    assert!(!SIZE.is_multiple_of(BLOCK as usize) && rows > by_scope(15, 40, 40));
}
