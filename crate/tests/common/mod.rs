//! What the tests share: images made by qemu-img, sources that hold their reads back, a sink that
//! checks how it is used.

#![allow(dead_code)] // Each test binary uses its part.

pub mod small;

use decant::chain::Companion;
use decant::convert::{Cancel, Progress, convert};
use decant::damage::Lost;
use decant::native::Inline;
use decant::sink::{Run, Sink};
use decant::units::{BLOCK, HostOffset};
use decant::{Error, Image, OpenOptions, Result, Source};
use futures_executor::LocalPool;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use futures_util::task::LocalSpawnExt;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Whether whole matrices run, not samples of them.
pub fn long() -> bool {
    std::env::var_os("DECANT_LONG").is_some()
}

/// Runs a program of qemu-utils; it must succeed.
pub fn qemu(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("qemu-utils is installed");
    let told = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&told));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a LUKS image, whose options are those of `qemu-img create -o`. It fails now and then for want
/// of an accurate clock.
pub fn luks(path: &Path, size: &str, options: &str, password: &str) {
    let secret = format!("secret,id=s,data={password}");
    let options = format!("encrypt.format=luks,encrypt.key-secret=s,{options}");
    let args = ["create", "-q", "-f", "qcow2", "--object", &secret, "-o", &options, text(path), size];
    for attempt in 0..10 {
        let output = Command::new("qemu-img").args(args).output().expect("qemu-utils is installed");
        if output.status.success() {
            return;
        }
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(attempt < 9 && reason.contains("CPU usage"), "{args:?}: {reason}");
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The bytes that qemu-img reads out of an image.
pub fn qemu_reads(image: &Path, raw: &Path) -> Vec<u8> {
    qemu("qemu-img", &["convert", "-O", "raw", text(image), text(raw)]);
    std::fs::read(raw).unwrap()
}

/// In which order reads are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// All that are waiting, the oldest first.
    InOrder,
    /// The newest first, one before anything goes on.
    Reverse,
    /// The oldest first, one before anything goes on.
    OneAtATime,
}

pub const ANSWERS: [Answers; 3] = [Answers::InOrder, Answers::Reverse, Answers::OneAtATime];

#[derive(Default)]
struct Held {
    waiting: Vec<(u64, Waker)>,
    answered: Vec<u64>,
    next: u64,
}

/// A file in memory whose reads wait until the test answers them.
pub struct HeldSource {
    bytes: Vec<u8>,
    /// Shared by the files of one image.
    held: Rc<RefCell<Held>>,
    /// Every read: offset and length.
    pub reads: RefCell<Vec<(u64, u64)>>,
    /// How many reads waited at once, at most.
    pub most_waiting: Cell<usize>,
}

impl HeldSource {
    pub fn new(bytes: Vec<u8>) -> Rc<Self> {
        Self::beside(bytes, Rc::default())
    }

    fn beside(bytes: Vec<u8>, held: Rc<RefCell<Held>>) -> Rc<Self> {
        Rc::new(Self { bytes, held, reads: RefCell::default(), most_waiting: Cell::new(0) })
    }

    /// Another file, answered together with this one.
    pub fn companion(&self, bytes: Vec<u8>) -> Rc<Self> {
        Self::beside(bytes, self.held.clone())
    }

    pub fn content(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    fn answer(&self, answers: Answers) -> bool {
        let held = &mut *self.held.borrow_mut();
        self.most_waiting.set(self.most_waiting.get().max(held.waiting.len()));
        let chosen: Vec<_> = match answers {
            _ if held.waiting.is_empty() => return false,
            Answers::InOrder => held.waiting.drain(..).collect(),
            Answers::Reverse => held.waiting.pop().into_iter().collect(),
            Answers::OneAtATime => vec![held.waiting.remove(0)],
        };
        for (id, waker) in chosen {
            held.answered.push(id);
            waker.wake();
        }
        true
    }
}

impl Source for HeldSource {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let end = offset.0 + buf.len() as u64;
        assert!(end <= self.size(), "a read past the end of the file: {}..{end}", offset.0);
        self.reads.borrow_mut().push((offset.0, buf.len() as u64));
        let id = {
            let held = &mut *self.held.borrow_mut();
            held.next += 1;
            held.next
        };
        let mut asked = false;
        std::future::poll_fn(move |context| {
            let held = &mut *self.held.borrow_mut();
            if !asked {
                asked = true;
                held.waiting.push((id, context.waker().clone()));
                return Poll::Pending;
            }
            if let Some(at) = held.answered.iter().position(|&answered| answered == id) {
                held.answered.remove(at);
                buf.copy_from_slice(&self.bytes[offset.0 as usize..end as usize]);
                return Poll::Ready(Ok(()));
            }
            for (waiting, waker) in &mut held.waiting {
                if *waiting == id {
                    *waker = context.waker().clone();
                }
            }
            Poll::Pending
        })
        .boxed_local()
    }
}

/// Runs `work` to its end, answering the reads of `source` as told. `None` where it would wait for
/// ever.
pub fn drive<T: 'static>(
    source: &HeldSource,
    answers: Answers,
    work: impl std::future::Future<Output = T> + 'static,
) -> Option<T> {
    let mut pool = LocalPool::new();
    let done = Rc::new(RefCell::new(None));
    let result = done.clone();
    pool.spawner().spawn_local(async move { *result.borrow_mut() = Some(work.await) }).unwrap();
    loop {
        pool.run_until_stalled();
        if let Some(result) = done.take() {
            return Some(result);
        }
        if !source.answer(answers) {
            return None;
        }
    }
}

/// How a sink wants to be used.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinkKind {
    pub ordered: bool,
    pub short_hole: u64,
    pub dense: bool,
}

/// A disk in memory that checks every call.
pub struct MemorySink {
    kind: SinkKind,
    pub bytes: RefCell<Vec<u8>>,
    /// Blocks that were written.
    written: RefCell<Vec<bool>>,
    last_end: Cell<u64>,
    pub data_bytes: Cell<u64>,
    pub finished: Cell<bool>,
    pub aborted: Cell<bool>,
}

impl MemorySink {
    pub fn new(kind: SinkKind) -> Rc<Self> {
        Rc::new(Self {
            kind,
            bytes: RefCell::default(),
            written: RefCell::default(),
            last_end: Cell::new(0),
            data_bytes: Cell::new(0),
            finished: Cell::new(false),
            aborted: Cell::new(false),
        })
    }

    fn take(&self, bytes: &[u8], run: &Run) {
        let disk = &mut *self.bytes.borrow_mut();
        let (start, end) = (run.guest as usize, run.guest as usize + run.len);
        assert!(run.guest.is_multiple_of(BLOCK) && run.len > 0, "a run does not start at a block: {run:?}");
        assert!((end as u64).is_multiple_of(BLOCK) || end == disk.len(), "a run ends inside a block: {run:?}");
        assert!(!self.kind.ordered || run.guest >= self.last_end.get(), "out of order: {run:?}");
        for block in start / BLOCK as usize..end.div_ceil(BLOCK as usize) {
            let before = std::mem::replace(&mut self.written.borrow_mut()[block], true);
            assert!(!before, "block {block} is written twice");
        }
        disk[start..end].copy_from_slice(&bytes[run.start..run.start + run.len]);
        self.last_end.set(end as u64);
        self.data_bytes.set(self.data_bytes.get() + run.len as u64);
    }
}

impl Sink<Vec<u8>> for MemorySink {
    fn ordered(&self) -> bool {
        self.kind.ordered
    }

    fn short_hole(&self) -> u64 {
        self.kind.short_hole
    }

    fn dense(&self) -> bool {
        self.kind.dense
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        *self.bytes.borrow_mut() = vec![0; len as usize];
        *self.written.borrow_mut() = vec![false; len.div_ceil(BLOCK) as usize];
        ready(Ok(())).boxed_local()
    }

    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        assert!(!self.finished.get() && !self.aborted.get());
        runs.iter().for_each(|run| self.take(bytes, run));
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        assert!(!self.kind.dense || self.written.borrow().iter().all(|&written| written), "a hole in a dense output");
        self.finished.set(true);
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.aborted.set(true);
        ready(()).boxed_local()
    }
}

/// What a conversion came to.
pub struct Converted {
    pub result: Result<Progress>,
    pub lost: Vec<Lost>,
    pub sink: Rc<MemorySink>,
    pub source: Rc<HeldSource>,
    pub companions: Vec<Rc<HeldSource>>,
}

/// An image with all that it takes to convert it.
#[derive(Clone, Default)]
pub struct Case {
    pub image: Vec<u8>,
    pub format: Option<String>,
    /// Its name; by default "image.qcow2".
    pub name: Option<String>,
    /// (name, content)
    pub companions: Vec<(String, Vec<u8>)>,
    pub snapshot: Option<String>,
    pub password: Option<Vec<u8>>,
    pub assume_password: bool,
    pub salvage: bool,
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
            snapshot: self.snapshot.clone(),
            salvage: self.salvage,
        };
        (source, held, options)
    }

    /// Opens it, unlocks it where there is a password, and does `work` with it.
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
        let (reading, password, assume) = (source.clone(), self.password.clone(), self.assume_password);
        let all = async move {
            let image = Image::open(reading, &options).await?;
            if let Some(password) = password {
                image.unlock(&password, assume, &|_| ready(Ok(())).boxed_local()).await?;
            }
            work(image).await
        };
        drive(&source, answers, all).expect("it waits for nothing")
    }

    pub fn convert(&self, answers: Answers, kind: SinkKind, job: u64) -> Converted {
        let (source, companions, options) = self.files();
        let sink = MemorySink::new(kind);
        let writing = sink.clone();
        let result = self.run(source.clone(), options, answers, move |image| async move {
            let executor = Inline::new(image.files().clone(), &image.keys(), 4, job)?;
            convert(&image, &executor, &*writing, &|_| {}, &Cancel::default()).await
        });
        let (result, lost) = match result {
            Ok(done) => (Ok(done.progress), done.lost),
            Err(error) => (Err(error), Vec::new()),
        };
        Converted { result, lost, sink, source, companions }
    }

    /// The bytes of the disk.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let converted = self.convert(Answers::InOrder, SinkKind::default(), 64 << 10);
        match converted.result {
            Ok(_) => Ok(converted.sink.bytes.take()),
            Err(error) => {
                assert!(!converted.sink.finished.get(), "a failed conversion was completed");
                Err(error)
            }
        }
    }
}

/// Converts the file `image` in memory.
pub fn convert_bytes(image: Vec<u8>, format: Option<&str>, answers: Answers, kind: SinkKind, job: u64) -> Converted {
    Case { format: format.map(str::to_owned), ..Case::new(image) }.convert(answers, kind, job)
}

/// Opens the file `image` and says what comes of it, without converting.
pub fn open_bytes(image: Vec<u8>, options: OpenOptions) -> std::result::Result<Image, Error> {
    let source = HeldSource::new(image);
    let reading = source.clone();
    let work = async move { Image::open(reading, &options).await };
    drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
}
