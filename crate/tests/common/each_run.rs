//! A target that passes on each run of data. It never hears of holes.

use decant::Result;
use decant::io::target::{Abilities, Holes, Run, Target, TargetHandle};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};

/// Calls `take` with the offset and the bytes of each run. Allocates nothing.
pub struct EachRun<F> {
    take: F,
    abilities: Abilities,
    /// The size with which it was opened.
    pub opened: Cell<Option<Option<u64>>>,
    /// The number of bytes written, and the end of the last one in the output.
    pub written: Cell<u64>,
    pub end: Cell<u64>,
    pub is_finished: Cell<bool>,
    pub is_aborted: Cell<bool>,
}

impl<F: Fn(u64, &[u8])> EachRun<F> {
    pub fn new(abilities: Abilities, take: F) -> Self {
        assert_eq!(abilities.holes, Holes::Skip);
        Self {
            take,
            abilities,
            opened: Cell::default(),
            written: Cell::default(),
            end: Cell::default(),
            is_finished: Cell::default(),
            is_aborted: Cell::default(),
        }
    }
}

/// A target that drops everything.
pub fn nowhere(abilities: Abilities) -> EachRun<impl Fn(u64, &[u8])> {
    EachRun::new(abilities, |_, _| {})
}

/// Writes a run to `file`, which grows to its end.
pub fn put(file: &RefCell<Vec<u8>>, offset: u64, bytes: &[u8]) {
    let (mut file, start) = (file.borrow_mut(), offset as usize);
    let len = file.len().max(start + bytes.len());
    file.resize(len, 0);
    file[start..][..bytes.len()].copy_from_slice(bytes);
}

impl<F: Fn(u64, &[u8])> TargetHandle<Vec<u8>> for EachRun<F> {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        for run in runs {
            (self.take)(run.offset, &bytes[run.start..run.start + run.len]);
            self.written.set(self.written.get() + run.len as u64);
            self.end.set(self.end.get().max(run.end()));
        }
        ready(Ok(())).boxed_local()
    }
}

impl<F: Fn(u64, &[u8])> Target<Vec<u8>> for EachRun<F> {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        self.opened.set(Some(size));
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        unreachable!("unwritten ranges read as zeros")
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.is_finished.set(true);
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.is_aborted.set(true);
        ready(()).boxed_local()
    }
}
