//! Disks through every output and back.

use super::conversion::{convert, convert_in_order};
use super::dynamic_vhd;
use super::examine::Seen;
use super::memory::Memory;
use super::opened::{Opened, open};
use super::written::Written;
use decant::compress::{CompressedEncoding, Encoding};
use decant::convert::{Cancel, InOrder, Output};
use decant::crypt::Keys;
use decant::io::target::{Abilities, Holes};
use decant::native::Inline;
use decant::output::{self, FormatOption, Layout, OUTPUT_FORMATS, Options, OutputFormat, Stamp};
use decant::{Error, ErrorKind, Input, OpenOptions};
use futures_executor::block_on;
use std::fmt::{Debug, Formatter};
use std::rc::Rc;

/// The number of bytes of an input before its extents: format, options, target, jobs, source, cut, and size of the disk.
pub const HEAD: usize = 16;
/// The number of bytes that describe an extent.
pub const EXTENT: usize = 6;
pub const MOST_EXTENTS: usize = 8;
const MOST_OPTIONS: usize = 4;
/// The number of values of `block_size`, smallest first.
const SMALL_BLOCKS: usize = 4;
/// Sizes are below 4 << 20 bytes, lengths of extents below 4 << 17.
const SIZE_SCALES: u16 = 21;
const LENGTH_SCALES: u16 = 18;
const STAMP: Stamp = Stamp { seconds: 1_700_000_000, random: [0xa5; 16] };
/// Outputs that are not recognised as images.
const UNMARKED: [&str; 1] = ["raw"];
/// An archive has a GiB of zeros after the disk: to read them all takes too long, so that a cut is not always seen.
const ARCHIVE: &str = "tar.gz";
/// A part of it that ends after a frame is a shorter file.
const ZSTD: &str = "raw.zst";
/// A part of it may be taken for a disk, which fails at its end.
const XZ: &str = "raw.xz";
/// The number of bytes that are read after the disk.
const AFTER: u64 = 64 << 10;

/// Reads an input byte by byte, then zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn next_u16(&mut self) -> u16 {
        u16::from_le_bytes([self.next(), self.next()])
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.next()) % from.len()]
    }

    /// A number of any of `scales` magnitudes: every other one is a multiple of a power of two.
    fn number(&mut self, scales: u16) -> usize {
        let word = self.next_u16();
        let (unit, rest) = (1 << (word % scales), usize::from(word / scales));
        match rest % 2 {
            0 => rest / 2 % 4 * unit,
            _ => unit + rest * 7919 % unit,
        }
    }

    /// Writes the next extent into `disk`, from `at`. Returns its end.
    fn extent(&mut self, disk: &mut [u8], at: usize) -> usize {
        let start = disk.len().min(at + self.number(LENGTH_SCALES));
        let end = disk.len().min(start + self.number(LENGTH_SCALES));
        let (kind, seed) = (self.next(), self.next());
        let mut state = u64::from(seed);
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let (before, extent) = disk[..end].split_at_mut(start);
        match kind % 5 {
            0 => extent.fill_with(noise),
            1 => extent.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 7) as u8 ^ seed),
            2 => extent.fill(seed),
            // A byte now and then, with zeros between them.
            3 => extent.iter_mut().step_by(511 + usize::from(seed)).for_each(|byte| *byte = noise() | 1),
            _ => extent.iter_mut().zip(before.iter().rev()).for_each(|(byte, &earlier)| *byte = earlier),
        }
        end
    }
}

/// The conversion that an input describes.
struct Case {
    format: &'static OutputFormat,
    /// Names and values of the first options; the others have their defaults.
    options: Vec<(String, String)>,
    abilities: Abilities,
    job: u64,
    /// The cluster size of the qcow2 that the disk is converted from. Empty: from a raw disk.
    clusters: &'static str,
    /// The place of a cut, in parts of 65536, and the number of bytes of the write in which it is.
    cut: (u16, u16),
    disk: Vec<u8>,
}

impl Debug for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { format, options, abilities, job, clusters, cut, disk } = self;
        write!(f, "{} {options:?} {abilities:?}, jobs of {job}, from '{clusters}', cut {cut:?}", format.name)?;
        write!(f, ", {} bytes", disk.len())
    }
}

impl Case {
    fn new(input: &[u8]) -> Self {
        let (head, extents) = input.split_at(input.len().min(HEAD));
        let mut head = Bytes(head);
        let format = &OUTPUT_FORMATS[usize::from(head.next()) % OUTPUT_FORMATS.len()];
        let mut chosen = |option: &FormatOption| {
            // Large blocks take long: the smallest file has one.
            let count = if option.name == "block_size" { SMALL_BLOCKS } else { option.values.len() };
            (option.name.to_owned(), head.pick(&option.values[..count]).to_owned())
        };
        let mut options: Vec<_> = format.options.iter().take(MOST_OPTIONS).map(&mut chosen).collect();
        // The rest of an input means the same for every format.
        (options.len()..MOST_OPTIONS).for_each(|_| _ = head.next());
        if options.iter().any(|(_, value)| value == "zstd") {
            // Version 2 of qcow2 has no zstd.
            options.retain(|(name, _)| name != "compat");
        }
        let abilities = Abilities {
            ascending: head.pick(&[false, true]),
            holes: head.pick(&[Holes::Skip, Holes::Report, Holes::WriteZeros]),
            late_start: head.pick(&[u64::MAX, 0]),
            short_hole: 0,
        };
        let job = 1 << (12 + head.next() % 12);
        let clusters = head.pick(&["", "", "512", "4k", "64k"]);
        let cut = (head.next_u16(), head.next_u16());
        let mut disk = vec![0; head.number(SIZE_SCALES).max(1)];
        let mut at = 0;
        for extent in extents.chunks(EXTENT).take(MOST_EXTENTS) {
            at = Bytes(extent).extent(&mut disk, at);
        }
        if [".gz", ".zst", ".xz"].iter().any(|end| format.name.ends_with(end)) {
            // A disk that begins like a document is taken for one.
            disk[0] = 0;
        }
        Self { format, options, abilities, job, clusters, cut, disk }
    }

    /// The image that the disk is converted from.
    fn source(&self) -> File {
        let raw = File { bytes: self.disk.clone(), format: Some("raw") };
        if self.clusters.is_empty() {
            return raw;
        }
        let format = output::by_name("qcow2").expect("qcow2 is registered");
        let options = [("cluster_size".to_owned(), self.clusters.to_owned())];
        let target = Written::new(Abilities { late_start: u64::MAX, ..Abilities::default() });
        raw.convert(format, &options, &target, 1 << 20).expect("a raw disk becomes a qcow2");
        File { bytes: target.whole(), format: Some("qcow2") }
    }

    /// Whether the output is read by a second reader, since Decant does not read it.
    fn is_dynamic_vhd(&self) -> bool {
        self.format.name == "vpc" && self.options.iter().any(|(_, value)| value == "dynamic")
    }

    fn opens(&self, bytes: Vec<u8>) -> bool {
        if self.is_dynamic_vhd() { dynamic_vhd::opens(bytes) } else { opened(bytes, None).is_ok() }
    }

    /// Reads the disk and some zeros after it out of `bytes`, an output.
    fn read(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        if self.is_dynamic_vhd() {
            let mut disk = dynamic_vhd::disk(bytes);
            disk.truncate(self.disk.len() + AFTER as usize);
            return Ok(disk);
        }
        let file = File { bytes, format: UNMARKED.contains(&self.format.name).then_some("raw") };
        let abilities = Abilities { ascending: true, holes: Holes::Report, ..Abilities::default() };
        let target = Written::with_room(abilities, self.disk.len() as u64 + AFTER);
        match file.convert(&OUTPUT_FORMATS[0], &[], &target, 1 << 20) {
            Err(error) if error.kind != ErrorKind::Target => Err(error),
            _ => Ok(target.file(target.count(), 0)),
        }
    }

    /// An output that was cut off before its last write is not an image, nor a disk in a container.
    fn cut_off(&self, written: &Written, encoding: Encoding) {
        let last = written.count() - 1;
        let count = (usize::from(self.cut.0) * (last + 1)) >> 16;
        let more = if count == last { 0 } else { usize::from(self.cut.1) };
        let file = written.file(count, more);
        let is_taken = match encoding {
            Encoding::Compressed(CompressedEncoding::Segments) => self.read(file).is_ok(),
            _ if self.format.name == XZ => self.read(file).is_ok(),
            _ => self.opens(file),
        };
        assert!(!is_taken, "{self:?}: a disk after {count} of {} writes and {more} bytes", last + 1);
    }

    /// Converts the disk to the output and back.
    fn check(&self) {
        let written = Written::new(self.abilities);
        let done = self.source().convert(self.format, &self.options, &written, self.job);
        let layout = done.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert!(written.finished.get(), "{self:?}: not completed");
        let back = self.read(written.whole()).unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert_eq!(back.len() as u64, layout.disk_size().min(self.disk.len() as u64 + AFTER), "{self:?}: another size");
        let (disk, rest) = back.split_at(self.disk.len());
        assert!(disk == self.disk, "{self:?}: other bytes");
        let mut padding = rest.iter().take(layout.disk_size() as usize - disk.len());
        assert!(padding.all(|&byte| byte == 0), "{self:?}: no zeros after the disk");
        let (encoding, is_read_once) = (layout.encoding(), layout.reserved() <= self.abilities.late_start);
        if encoding != Encoding::Plain && is_read_once && ![ARCHIVE, ZSTD].contains(&self.format.name) {
            self.cut_off(&written, encoding);
        }
    }
}

/// A file that is converted.
struct File {
    bytes: Vec<u8>,
    /// Its format, unless it is recognised.
    format: Option<&'static str>,
}

impl File {
    /// Converts the disk in the file to `format`.
    fn convert(
        self,
        format: &'static OutputFormat,
        options: &[(String, String)],
        target: &Written,
        job: u64,
    ) -> Result<Box<dyn Layout>, Error> {
        let (progress, cancel) = (|_| {}, Cancel::default());
        let options = Options::new(format, options)?;
        match opened(self.bytes, self.format)? {
            Opened::Image(image) => {
                let layout = (format.layout)(image.virtual_size(), &options)?;
                let executor = Inline::new(image.files().clone(), image.keys(), 3, job);
                let output = Output { may_read_twice: true, ..Output::new(&*layout, STAMP, target) };
                block_on(convert(&image, &executor, &output, &progress, &cancel))?;
                Ok(layout)
            }
            Opened::Streamed(image) => {
                let layout = format.layout_in_order(&options)?;
                let disk = InOrder::new(&image, None);
                let executor = Inline::new(disk.files(), Keys::default(), 3, job);
                let output = Output::new(&*layout, STAMP, target);
                block_on(convert_in_order(&disk, &executor, &output, &progress, &cancel))?;
                Ok(layout)
            }
            Opened::Machine(_) => panic!("a disk image is not a configuration"),
        }
    }
}

fn opened(bytes: Vec<u8>, format: Option<&str>) -> Result<Opened, Error> {
    let options = OpenOptions { format: format.map(str::to_owned), ..OpenOptions::default() };
    block_on(open(Input::File(Rc::new(Memory(bytes))), &options))
}

/// Takes `input` for a disk and an output, and panics unless the output has the disk.
pub fn output(input: &[u8]) -> Seen {
    let case = Case::new(input);
    case.check();
    let read = case.disk.iter().any(|&byte| byte != 0);
    Seen { opened: true, read, converted: true, compared: true }
}
