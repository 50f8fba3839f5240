//! Shared by the tests: images made by qemu-img, a target that checks its calls, an image with everything for its
//! conversion.

#![allow(dead_code)] // Each test binary uses its part.

mod conversion;
pub mod each_run;
pub mod every_way;
mod held;
pub mod luks;
mod native;
mod opened;
pub mod parallels;
pub mod qed;
pub mod random;
pub mod salvage;
mod scope;
pub mod small;
pub mod table;
pub mod vdi;
pub mod vhd;
pub mod vhdx;
pub mod vmdk;
pub mod written;
pub mod zip;
pub mod zlib;

pub use conversion::*;
pub use held::*;
pub use native::*;
pub use opened::*;
pub use scope::*;

use decant::compress::Encoding;
use decant::container::blocks::InPlace;
use decant::container::part::PartDecoder;
use decant::convert::{
    Cancel, Change, ConvertedDisk, Digest, DiskDigest, DiskSource, InOrder, Output, Progress, ResumePoint,
    convert_disks, reshaped,
};
use decant::crypt::Keys;
use decant::disk::info::{Info, Notice};
use decant::disk::losses::Losses;
use decant::io::stream::ByteStream;
use decant::io::target::{Abilities, Holes, Run, Target, TargetHandle};
use decant::native::{Inline, InlineParts};
use decant::open::DiskOfMachine;
use decant::open::chain::Companion;
use decant::open::disk_choice::DiskChoice;
use decant::output::{self, BLOCK, Layout, Options, OutputFormat, Stamp};
use decant::{Error, Image, Input, OpenOptions, Result};
use decant_crypt::SHA256;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;

/// Runs `work` with each number below `count`, two at a time: a program that makes an image keeps one core busy.
pub fn two_at_once<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let lane = |first| scope.spawn(move || (first..count).step_by(2).map(work).collect());
        let lanes = [lane(0), lane(1)];
        let join = |lane: std::thread::ScopedJoinHandle<'_, Vec<T>>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        lanes.into_iter().flat_map(join).collect()
    })
}

/// Runs a program of qemu-utils; it must succeed.
pub fn qemu(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("qemu-utils is installed");
    let told = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&told));
    String::from_utf8(output.stdout).unwrap()
}

/// qemu-img for making LUKS headers. It measures how many iterations of a hash take a certain time, for a second or
/// two, and sometimes fails: here, time passes with each call.
pub fn qemu_img_for_luks(args: &[&str]) {
    static CLOCK: OnceLock<PathBuf> = OnceLock::new();
    let clock = CLOCK.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/clock.c");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (own, shared) = (folder.join(format!("clock-{}.so", std::process::id())), folder.join("clock.so"));
        let made = Command::new("cc").args(["-shared", "-fPIC", "-o", text(&own), source]).status().unwrap();
        assert!(made.success(), "cc makes {}", own.display());
        std::fs::rename(own, &shared).unwrap();
        shared
    });
    let output =
        Command::new("qemu-img").args(args).env("LD_PRELOAD", clock).output().expect("qemu-utils is installed");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a qcow2 with LUKS, whose options are those of `qemu-img create -o`.
pub fn qcow2_with_luks(path: &Path, size: &str, options: &str, password: &str) {
    let secret = format!("secret,id=s,data={password}");
    let options = format!("encrypt.format=luks,encrypt.key-secret=s,{options}");
    qemu_img_for_luks(&["create", "-q", "-f", "qcow2", "--object", &secret, "-o", &options, text(path), size]);
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The bytes that qemu-img reads out of an image.
pub fn qemu_reads(image: &Path, raw: &Path) -> Vec<u8> {
    qemu("qemu-img", &["convert", "-O", "raw", text(image), text(raw)]);
    std::fs::read(raw).unwrap()
}

/// The SHA-256 of `bytes`, which sha256sum computes.
pub fn sha256(bytes: &[u8]) -> [u8; SHA256] {
    let line = String::from_utf8(filter("sha256sum", &["-b"], bytes)).unwrap();
    std::array::from_fn(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap())
}

/// The digest of a disk with these bytes.
pub fn digest_of(bytes: &[u8]) -> DiskDigest {
    DiskDigest { hash: sha256(bytes), size: bytes.len() as u64 }
}

/// A target in memory that checks every call. If holes are reported, its bytes are not zero at first.
pub struct MemoryTarget {
    abilities: Abilities,
    pub bytes: RefCell<Vec<u8>>,
    /// Sectors that were written, or reported as a hole.
    covered: RefCell<Vec<bool>>,
    last_end: Cell<u64>,
    pub data_bytes: Cell<u64>,
    /// The reported holes, as offset and length.
    pub holes: RefCell<Vec<(u64, u64)>>,
    pub finished: Cell<bool>,
    pub aborted: Cell<bool>,
    /// For an assembled output, whose writes and holes begin anywhere: the covered ranges in ascending order. No two touch.
    assembled: RefCell<Option<Vec<Range<usize>>>>,
    /// The size was not known.
    grows: Cell<bool>,
}

/// The unit in which a target checks that nothing is written twice.
const SECTOR: usize = 512;

impl MemoryTarget {
    pub fn new(abilities: Abilities) -> Rc<Self> {
        Rc::new(Self {
            abilities,
            bytes: RefCell::default(),
            covered: RefCell::default(),
            last_end: Cell::new(0),
            data_bytes: Cell::new(0),
            holes: RefCell::default(),
            finished: Cell::new(false),
            aborted: Cell::new(false),
            assembled: RefCell::default(),
            grows: Cell::new(false),
        })
    }

    fn cover(&self, start: usize, end: usize) {
        if self.grows.get() && end > self.bytes.borrow().len() {
            self.bytes.borrow_mut().resize(end, self.unwritten());
            self.covered.borrow_mut().resize(end.div_ceil(SECTOR), false);
        }
        assert!(!self.finished.get() && !self.aborted.get());
        let ends_well = end.is_multiple_of(SECTOR) || end == self.bytes.borrow().len();
        assert!(start < end && start.is_multiple_of(SECTOR) && ends_well, "{start}..{end}");
        assert!(!self.abilities.ascending || start as u64 >= self.last_end.get(), "out of order: {start}..{end}");
        for sector in start / SECTOR..end.div_ceil(SECTOR) {
            let before = std::mem::replace(&mut self.covered.borrow_mut()[sector], true);
            assert!(!before, "sector {sector} is written twice");
        }
        self.last_end.set(end as u64);
    }

    /// Takes the output of `layout`.
    pub fn expect(&self, layout: &dyn Layout) {
        let is_plain = layout.encoding() == Encoding::Plain;
        self.assembled.replace((!is_plain).then(Vec::new));
    }

    /// Covers bytes of an assembled output. Only the start may come after other bytes, and no byte is covered
    /// twice.
    fn cover_bytes(&self, covered: &mut Vec<Range<usize>>, start: usize, end: usize) {
        assert!(!self.finished.get() && !self.aborted.get());
        let len = covered.last().map_or(0, |last| last.end);
        assert!(
            start < end && (start >= len || (end as u64) <= self.abilities.late_start),
            "out of order: {start}..{end}"
        );
        if end > len {
            self.bytes.borrow_mut().resize(end, self.unwritten());
        }
        let at = covered.partition_point(|range| range.end <= start);
        assert!(covered.get(at).is_none_or(|next| end <= next.start), "written twice: {start}..{end}");
        let touches_before = at > 0 && covered[at - 1].end == start;
        let touches_next = covered.get(at).is_some_and(|next| next.start == end);
        match (touches_before, touches_next) {
            (true, true) => covered[at - 1].end = covered.remove(at).end,
            (true, false) => covered[at - 1].end = end,
            (false, true) => covered[at].start = start,
            (false, false) => covered.insert(at, start..end),
        }
    }

    fn unwritten(&self) -> u8 {
        if self.abilities.holes == Holes::Skip { 0 } else { 0xee }
    }

    fn take(&self, bytes: &[u8], run: &Run) {
        let (start, end) = (run.offset as usize, run.end() as usize);
        if let Some(covered) = &mut *self.assembled.borrow_mut() {
            self.cover_bytes(covered, start, end);
        } else {
            assert!(run.offset.is_multiple_of(BLOCK), "a run does not start at a block: {run:?}");
            self.cover(start, end);
        }
        self.bytes.borrow_mut()[start..end].copy_from_slice(&bytes[run.start..run.start + run.len]);
        self.data_bytes.set(self.data_bytes.get() + run.len as u64);
    }
}

impl TargetHandle<Vec<u8>> for MemoryTarget {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        runs.iter().for_each(|run| self.take(bytes, run));
        ready(Ok(())).boxed_local()
    }
}

impl Target<Vec<u8>> for MemoryTarget {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        self.grows.set(size.is_none());
        let size = size.unwrap_or(0) as usize;
        *self.bytes.borrow_mut() = vec![self.unwritten(); size];
        *self.covered.borrow_mut() = vec![false; size.div_ceil(SECTOR)];
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, offset: u64, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        assert_ne!(self.abilities.holes, Holes::Skip, "a hole is told");
        let (start, end) = (offset as usize, (offset + len) as usize);
        match &mut *self.assembled.borrow_mut() {
            Some(covered) => self.cover_bytes(covered, start, end),
            None => self.cover(start, end),
        }
        self.bytes.borrow_mut()[start..end].fill(0);
        self.holes.borrow_mut().push((offset, len));
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        let all = match &*self.assembled.borrow() {
            Some(covered) => covered.len() <= 1 && covered.first().is_none_or(|first| first.start == 0),
            None => self.covered.borrow().iter().all(|&covered| covered),
        };
        assert!(self.abilities.holes == Holes::Skip || all, "a hole is not told");
        self.finished.set(true);
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.aborted.set(true);
        ready(()).boxed_local()
    }
}

/// The layout of a disk with the recommended options of `format`.
pub fn layout(format: &OutputFormat, virtual_size: u64) -> Result<Box<dyn Layout>> {
    (format.layout)(virtual_size, &Options::recommended(format))
}

/// The layout of a disk of unknown size.
pub fn layout_in_order(format: &OutputFormat) -> Result<Box<dyn Layout>> {
    format.layout_in_order(&Options::recommended(format))
}

/// The stamp of every output here.
pub const STAMP: Stamp = Stamp { seconds: 1_700_000_000, random: [0xa5; 16] };

/// The result of a conversion.
pub struct Converted {
    pub result: Result<Progress>,
    pub lost: Losses,
    pub notices: Vec<Notice>,
    /// Offsets and lengths.
    pub rewritten: Vec<(u64, u64)>,
    pub output_size: u64,
    pub digest: Option<DiskDigest>,
    pub target: Rc<MemoryTarget>,
    pub source: Rc<HeldSource>,
    pub companions: Vec<Rc<HeldSource>>,
}

/// A digest that a conversion computes.
#[derive(Clone, Copy, Debug)]
pub enum Digested {
    Sha256,
    FsVerity,
}

/// An image with everything for its conversion.
#[derive(Clone, Default)]
pub struct Case {
    pub image: Vec<u8>,
    pub format: Option<String>,
    /// Its name; by default "image.qcow2".
    pub name: Option<String>,
    /// (name, content)
    pub companions: Vec<(String, Vec<u8>)>,
    /// See `OpenOptions::file`.
    pub file: Option<String>,
    pub snapshot: Option<String>,
    pub disk: Option<DiskChoice>,
    pub password: Option<Vec<u8>>,
    pub assume_password: bool,
    pub salvage: bool,
    pub force_parent: bool,
    pub check_manifest: Option<bool>,
    /// Whether the caller can unpack it: its bytes are those of the packed file then.
    pub spool: bool,
    /// See `OpenOptions::unpack`.
    pub unpack: bool,
    /// Whether compressed files are read in place.
    pub in_place: bool,
    /// Whether the image is a stream.
    pub as_stream: bool,
    /// The size of a streamed disk, if it was determined before.
    pub size: Option<u64>,
    /// Decodes a compressed file by parts.
    pub by_parts: Option<Rc<dyn PartDecoder>>,
    /// How the disk differs in the output.
    pub change: Change,
    /// Whether the SHA-256 of the disk is computed, or the digest of fs-verity.
    pub digest: Option<Digested>,
}

/// Bytes as a stream.
struct Trickle {
    bytes: Vec<u8>,
    at: usize,
}

impl ByteStream for Trickle {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        let len = buf.len().min(self.bytes.len() - self.at);
        buf[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        ready(Ok(len)).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.at as u64
    }
}

impl Case {
    pub fn new(image: Vec<u8>) -> Self {
        Self { image, ..Self::default() }
    }

    /// The files in memory, and how to open them.
    fn files(&self) -> (Rc<HeldSource>, Vec<Rc<HeldSource>>, OpenOptions) {
        let source = HeldSource::new(self.image.clone());
        let held: Vec<_> = self.companions.iter().map(|(_, bytes)| source.companion(bytes.clone())).collect();
        let companion = |((name, _), source): (&(String, Vec<u8>), &Rc<HeldSource>)| Companion {
            source: source.clone(),
            name: name.clone(),
            stands_for: None,
            is_image: false,
        };
        let options = OpenOptions {
            format: self.format.clone(),
            name: Some(self.name.clone().unwrap_or("image.qcow2".to_owned())),
            companions: self.companions.iter().zip(&held).map(companion).collect(),
            file: self.file.clone(),
            snapshot: self.snapshot.clone(),
            disk: self.disk.clone(),
            salvage: self.salvage,
            force_parent: self.force_parent,
            check_manifest: self.check_manifest,
            spool: self.spool,
            unpack: self.unpack,
            in_place: self.in_place.then(|| InPlace { decoder: Rc::new(InlineParts), measured: Rc::new(|_| ()) }),
            ..OpenOptions::default()
        };
        (source, held, options)
    }

    fn input(&self, source: &Rc<HeldSource>) -> Input {
        match self.as_stream {
            true => Input::Stream(Box::new(Trickle { bytes: self.image.clone(), at: 0 })),
            false => Input::File(source.clone()),
        }
    }

    /// Opens it and returns its description.
    pub fn info(&self) -> Result<Info> {
        let (source, _, options) = self.files();
        let input = self.input(&source);
        let work = async move {
            Ok(match open_disk(input, options).await? {
                Opened::Image(image) => image.info(),
                Opened::Streamed(image) => image.info(),
                Opened::Machine(_) => panic!("it is a disk"),
            })
        };
        drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
    }

    /// Opens it, and lists all extents of its disk. Returns the reads of the image and of each companion.
    pub fn reads(&self) -> Vec<Vec<(u64, u64)>> {
        let (source, companions, options) = self.files();
        let list = |image| async move { Ok(all_extents(&image).await) };
        self.run(source.clone(), options, Answers::InOrder, list).unwrap();
        std::iter::once(source).chain(companions).map(|file| file.reads.take()).collect()
    }

    /// Opens it, unlocks it if there is a password, and runs `work` with it.
    pub fn with<T: 'static, F: std::future::Future<Output = Result<T>> + 'static>(
        &self,
        answers: Answers,
        work: impl FnOnce(Image) -> F + 'static,
    ) -> Result<T> {
        let (source, _, options) = self.files();
        self.run(source, options, answers, work)
    }

    fn run<T: 'static, F: std::future::Future<Output = Result<T>> + 'static>(
        &self,
        source: Rc<HeldSource>,
        options: OpenOptions,
        answers: Answers,
        work: impl FnOnce(Image) -> F + 'static,
    ) -> Result<T> {
        let (reading, password, assume) = (self.input(&source), self.password.clone(), self.assume_password);
        let all = async move {
            let Opened::Image(image) = open_disk(reading, options).await? else {
                panic!("it is read at any position");
            };
            if let Some(password) = password {
                while image.is_locked() {
                    image.unlock_next(&password, assume, &|_| ready(Ok(())).boxed_local()).await?;
                }
            }
            work(image).await
        };
        drive(&source, answers, all).expect("it waits for nothing")
    }

    pub fn convert(&self, answers: Answers, abilities: Abilities, job: u64) -> Converted {
        self.convert_to("raw", answers, abilities, job)
    }

    /// Converts it to the output format `format` with its recommended options, in jobs of about `job` bytes.
    pub fn convert_to(&self, format: &str, answers: Answers, abilities: Abilities, job: u64) -> Converted {
        let format = output::by_name(format).unwrap();
        self.convert_with(format, Options::recommended(format), answers, abilities, job)
    }

    /// Converts it to the output format `format` with `options`, in jobs of about `job` bytes.
    pub fn convert_with(
        &self,
        format: &'static OutputFormat,
        options_of_format: Options,
        answers: Answers,
        abilities: Abilities,
        job: u64,
    ) -> Converted {
        let (source, companions, options) = self.files();
        let target = MemoryTarget::new(abilities);
        let writing = target.clone();
        let (password, assume, by_parts) = (self.password.clone(), self.assume_password, self.by_parts.clone());
        let (input, size, change) = (self.input(&source), self.size, self.change);
        let digest = self.digest;
        let work = async move {
            let (progress, cancel) = (|_| {}, Cancel::default());
            let hasher = InlineHasher::new()?;
            let digest = digest.map(|digest| match digest {
                Digested::Sha256 => Digest::Sha256(&hasher),
                Digested::FsVerity => Digest::FsVerity,
            });
            let image = match open_disk(input, options).await? {
                Opened::Machine(_) => panic!("it is a disk"),
                Opened::Image(image) => image,
                Opened::Streamed(image) => {
                    let disk = InOrder::new(&image, by_parts).of_size(size);
                    let executor = Inline::new(disk.files(), Keys::default(), 4, job);
                    let known = change.size.or(size);
                    let layout = match known {
                        Some(size) => (format.layout)(size, &options_of_format)?,
                        None => format.layout_in_order(&options_of_format)?,
                    };
                    let disk = disk.changed(change, known.map(|_| &*layout))?;
                    writing.expect(&*layout);
                    let output = Output { may_read_twice: true, digest, ..Output::new(&*layout, STAMP, &*writing) };
                    return convert_in_order(&disk, &executor, &output, &progress, &cancel).await;
                }
            };
            if let Some(password) = password {
                while image.is_locked() {
                    image.unlock_next(&password, assume, &|_| ready(Ok(())).boxed_local()).await?;
                }
            }
            let (layout, reshaped) = reshaped(&image, format, options_of_format, change).await?;
            let executor = Inline::new(reshaped.files(&image), image.keys(), 4, job);
            writing.expect(&*layout);
            let disk = DiskSource::reshaped(&image, Rc::new(reshaped), &executor);
            let output = Output { may_read_twice: true, digest, ..Output::new(&*layout, STAMP, &*writing) };
            convert_disks(&[disk], &output, ResumePoint::default(), &progress, &cancel).await
        };
        let result = drive(&source, answers, work).expect("it waits for nothing");
        let (result, output_size, disk) = match result {
            Ok(mut done) => (Ok(done.progress), done.output_size, Some(done.disks.remove(0))),
            Err(error) => (Err(error), 0, None),
        };
        let (lost, notices, rewritten, digest) = match disk {
            Some(ConvertedDisk { lost, notices, rewritten, digest, .. }) => (lost, notices, rewritten, digest),
            None => (Losses::default(), Vec::new(), Vec::new(), None),
        };
        let rewritten = rewritten.iter().map(|range| (range.start.0, range.len())).collect();
        Converted { result, lost, notices, rewritten, output_size, digest, target, source, companions }
    }

    /// The bytes of the disk. They are the same if a compressed file is decoded by parts, and so is the error.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let in_order = self.bytes_in_order();
        let is_divided =
            [&b"\xfd7zXZ"[..], b"BZh", &[0x28, 0xb5, 0x2f, 0xfd], b"PK"].map(|sign| self.image.starts_with(sign));
        if is_divided.contains(&true) && !self.as_stream && self.by_parts.is_none() {
            let divided = Self { by_parts: Some(Rc::new(InlineParts)), ..self.clone() }.bytes_in_order();
            assert!(divided == in_order, "by parts: {:?} and {:?}", divided.err(), in_order.as_ref().err());
        }
        in_order
    }

    fn bytes_in_order(&self) -> Result<Vec<u8>> {
        let converted = self.convert(Answers::InOrder, Abilities::default(), 64 << 10);
        match converted.result {
            Ok(_) => Ok(converted.target.bytes.take()),
            Err(error) => {
                assert!(!converted.target.finished.get(), "a failed conversion was completed");
                Err(error)
            }
        }
    }
}

/// Converts the file `image` in memory.
pub fn convert_bytes(
    image: Vec<u8>,
    format: Option<&str>,
    answers: Answers,
    abilities: Abilities,
    job: u64,
) -> Converted {
    Case { format: format.map(str::to_owned), ..Case::new(image) }.convert(answers, abilities, job)
}

/// Opens `input`; if it is the configuration of a machine, its disk.
pub async fn open_disk(input: Input, mut options: OpenOptions) -> Result<Opened> {
    let DiskOfMachine { file, is_in_snapshot, stated, .. } = match open(input, &options).await? {
        Opened::Machine(disk) => disk,
        opened => return Ok(opened),
    };
    let Companion { source, name, .. } = options.companions.remove(file);
    let snapshot = options.snapshot.filter(|_| !is_in_snapshot);
    let options = OpenOptions { name: Some(name), disk: None, snapshot, stated, ..options };
    open(Input::File(source), &options).await
}

/// Opens the file `image`, without converting it.
pub fn open_bytes(image: Vec<u8>, options: OpenOptions) -> std::result::Result<Image, Error> {
    let source = HeldSource::new(image);
    let reading = source.clone();
    let work = async move {
        match open(Input::File(reading), &options).await? {
            Opened::Image(image) => Ok(image),
            Opened::Streamed(_) => panic!("it is read in order"),
            Opened::Machine(_) => panic!("it is a configuration"),
        }
    };
    drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
}

/// The info of the image in the file `image`, which is read at any position or in order.
pub fn info_of(image: Vec<u8>) -> Info {
    Case::new(image).info().unwrap()
}

/// The output of `command` for `input`.
pub fn filter(command: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(command).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command} {args:?}: {}", output.status);
        output.stdout
    })
}
