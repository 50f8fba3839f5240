//! Files in memory.

use decant::io::source::Source;
use decant::io::target::{Abilities, Run, Target, TargetHandle};
use decant::offsets::HostOffset;
use decant::output::BLOCK;
use decant::{Error, ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;

/// A file that is read.
pub struct Memory<B>(pub B);

impl<B: Deref<Target: AsRef<[u8]>>> Source for Memory<B> {
    fn size(&self) -> u64 {
        (*self.0).as_ref().len() as u64
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let start = usize::try_from(offset.0).expect("a read past the end");
        buf.copy_from_slice(&(*self.0).as_ref()[start..start + buf.len()]);
        ready(Ok(())).boxed_local()
    }
}

/// A disk that stores its nonzero blocks, up to a limit.
#[derive(Default)]
pub struct Disk {
    pub len: Cell<u64>,
    /// Whether its size is unknown: it ends with the last written byte.
    grows: Cell<bool>,
    /// By the number of the block.
    pub blocks: RefCell<BTreeMap<u64, Vec<u8>>>,
    pub finished: Cell<bool>,
}

/// Maximum number of stored blocks.
const MOST_BLOCKS: usize = 256;

impl Disk {
    fn take(&self, bytes: &[u8], run: &Run) -> Result<()> {
        assert!(run.offset.is_multiple_of(BLOCK) && run.len > 0, "a run does not start at a block: {run:?}");
        if self.grows.get() {
            self.len.set(self.len.get().max(run.end()));
        }
        assert!(run.end() <= self.len.get(), "a run past the end: {run:?}");
        let mut blocks = self.blocks.borrow_mut();
        let data = &bytes[run.start..run.start + run.len];
        for (number, block) in (run.offset / BLOCK..).zip(data.chunks(BLOCK as usize)) {
            assert!(blocks.insert(number, block.to_vec()).is_none(), "block {number} is written twice");
            if blocks.len() > MOST_BLOCKS {
                return Err(Error::new(ErrorKind::Target, "The disk is full"));
            }
        }
        Ok(())
    }
}

impl TargetHandle<Vec<u8>> for Disk {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        ready(runs.iter().try_for_each(|run| self.take(bytes, run))).boxed_local()
    }
}

impl Target<Vec<u8>> for Disk {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        self.len.set(size.unwrap_or(0));
        self.grows.set(size.is_none());
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        unreachable!("holes are implied")
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.finished.set(true);
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.finished.set(false);
        ready(()).boxed_local()
    }
}
