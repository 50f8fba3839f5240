//! What the tests share: images made by qemu-img, sources that hold their reads back, a sink that
//! checks how it is used.

#![allow(dead_code)] // Each test binary uses its part.

use decant::convert::{Cancel, Progress, convert};
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
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
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
    held: RefCell<Held>,
    /// Every read: offset and length.
    pub reads: RefCell<Vec<(u64, u64)>>,
    /// How many reads waited at once, at most.
    pub most_waiting: Cell<usize>,
}

impl HeldSource {
    pub fn new(bytes: Vec<u8>) -> Rc<Self> {
        Rc::new(Self { bytes, held: RefCell::default(), reads: RefCell::default(), most_waiting: Cell::new(0) })
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
    pub sink: Rc<MemorySink>,
    pub source: Rc<HeldSource>,
}

/// Converts the file `image` in memory.
pub fn convert_bytes(image: Vec<u8>, format: Option<&str>, answers: Answers, kind: SinkKind, job: u64) -> Converted {
    let source = HeldSource::new(image);
    let sink = MemorySink::new(kind);
    let (reading, writing) = (source.clone(), sink.clone());
    let options = OpenOptions { format: format.map(str::to_owned), ..OpenOptions::default() };
    let work = async move {
        let image = Image::open(reading.clone(), &options).await?;
        let executor = Inline::new(reading, 4, job);
        convert(&image, &executor, &*writing, &|_| {}, &Cancel::default()).await
    };
    let result = drive(&source, answers, work).expect("the conversion waits for nothing");
    Converted { result, sink, source }
}

/// Opens the file `image` and says what comes of it, without converting.
pub fn open_bytes(image: Vec<u8>, options: OpenOptions) -> std::result::Result<Image, Error> {
    let source = HeldSource::new(image);
    let reading = source.clone();
    let work = async move { Image::open(reading, &options).await };
    drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
}
