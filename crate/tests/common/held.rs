//! Files in memory whose reads wait until the test answers them.

use decant::disk::extent::Extent;
use decant::offsets::HostOffset;
use decant::{Image, OpenOptions, Result, Source};
use futures_executor::LocalPool;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use futures_util::task::LocalSpawnExt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The order in which reads are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// All waiting reads, the oldest first.
    InOrder,
    /// The newest first, one before the work continues.
    Reverse,
    /// The oldest first, one before the work continues.
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
    /// Maximum number of reads that waited at once.
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

    /// Opens this file as an image and lists all extents of its disk.
    pub fn extents(self: &Rc<Self>) -> Vec<Extent> {
        let reading = self.clone();
        let work = async move {
            let image = Image::open(reading, &OpenOptions::default()).await.unwrap();
            all_extents(&image).await
        };
        drive(self, Answers::InOrder, work).expect("listing waits for nothing")
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

/// Runs `work` to its end, answering the reads of `source` in the given order. `None` if it would wait forever.
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

/// The number of bytes in `reads` that were read before.
pub fn read_twice(reads: &[(u64, u64)]) -> u64 {
    let mut sorted: Vec<_> = reads.iter().map(|&(start, len)| (start, start + len)).collect();
    sorted.sort_unstable();
    let mut twice = 0;
    let mut end = 0;
    for (start, read_end) in sorted {
        twice += end.min(read_end).saturating_sub(start);
        end = end.max(read_end);
    }
    twice
}

/// All extents of the disk of `image`.
pub async fn all_extents(image: &Image) -> Vec<Extent> {
    let (mut walk, mut extents) = (image.extents().unwrap(), Vec::new());
    while walk.next(&mut extents).await.unwrap() {}
    extents
}
