//! A target that keeps every write, in order.

use decant::io::target::{Abilities, Holes, Run, Target, TargetHandle};
use decant::{Error, ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};

pub struct Written {
    abilities: Abilities,
    /// The size stated beforehand, or 0.
    size: Cell<u64>,
    /// Where the target is full.
    most: u64,
    /// Offsets and bytes. A hole is its zeros.
    writes: RefCell<Vec<(u64, Vec<u8>)>>,
    pub finished: Cell<bool>,
}

impl Written {
    pub fn new(abilities: Abilities) -> Self {
        Self::with_room(abilities, u64::MAX)
    }

    /// Fails with `target` when more than `most` bytes are written, after it has kept those.
    pub fn with_room(abilities: Abilities, most: u64) -> Self {
        let finished = Cell::default();
        Self { abilities, size: Cell::default(), most, writes: RefCell::default(), finished }
    }

    /// The number of writes.
    pub fn count(&self) -> usize {
        self.writes.borrow().len()
    }

    /// The file after the first `count` writes and `more` bytes of the next one, up to its last write. If the target expects reports of holes,
    /// a byte that was neither written nor reported is not zero.
    pub fn file(&self, count: usize, more: usize) -> Vec<u8> {
        let writes = self.writes.borrow();
        let part = writes.get(count).map(|(offset, bytes)| (*offset, &bytes[..more.min(bytes.len())]));
        let whole = writes[..count].iter().map(|(offset, bytes)| (*offset, &bytes[..]));
        let all: Vec<_> = whole.chain(part).filter(|(_, bytes)| !bytes.is_empty()).collect();
        let end = all.iter().map(|(offset, bytes)| *offset as usize + bytes.len()).max().unwrap_or(0);
        let mut file = vec![self.unwritten(); end];
        for (offset, bytes) in all {
            file[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        file
    }

    /// The file after all writes, with its size.
    pub fn whole(&self) -> Vec<u8> {
        let mut file = self.file(self.count(), 0);
        file.resize(file.len().max(self.size.get() as usize), self.unwritten());
        file
    }

    fn unwritten(&self) -> u8 {
        if self.abilities.holes == Holes::Skip { 0 } else { 0xee }
    }

    /// Keeps a write of `len` bytes. A target with ascending writes accepts only its start after later bytes.
    fn keep(&self, offset: u64, len: u64, bytes: impl FnOnce(usize) -> Vec<u8>) -> Result<()> {
        assert!(!self.finished.get() && len > 0);
        let (end, mut writes) = (offset + len, self.writes.borrow_mut());
        let follows = writes.last().is_none_or(|(before, bytes)| before + bytes.len() as u64 <= offset);
        assert!(
            !self.abilities.ascending || follows || end <= self.abilities.late_start,
            "out of order: {offset}..{end}"
        );
        let room = self.most.saturating_sub(offset).min(len);
        writes.push((offset, bytes(room as usize)));
        if room < len { Err(Error::new(ErrorKind::Target, "The target is full")) } else { Ok(()) }
    }
}

impl TargetHandle<Vec<u8>> for Written {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        let keep =
            |run: &Run| self.keep(run.offset, run.len as u64, |room| bytes[run.start..run.start + room].to_vec());
        ready(runs.iter().try_for_each(keep)).boxed_local()
    }
}

impl Target<Vec<u8>> for Written {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        self.size.set(size.unwrap_or(0));
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, offset: u64, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        assert_ne!(self.abilities.holes, Holes::Skip, "a hole is reported");
        ready(self.keep(offset, len, |room| vec![0; room])).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.finished.set(true);
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        ready(()).boxed_local()
    }
}
