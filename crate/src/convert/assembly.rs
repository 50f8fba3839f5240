//! Writes an assembled output: asks its assembler where data goes, and passes the writes to the target.

use crate::compress::EncodedPart;
use crate::error::{Error, ErrorKind, Result};
use crate::io::target::{Holes, Run, Target};
use crate::offsets::GuestRange;
use crate::output::{Assembler, Layout, Stamp, Write, Writes};
use std::cell::{Cell, RefCell};

/// One of the passes over the disk. The first bytes are those of [`Layout::reserved`].
pub(super) enum Pass {
    /// The only pass: the target accepts the first bytes last.
    Only,
    /// Determines the first bytes, and writes nothing.
    First,
    /// Writes the first bytes, determined by a first pass, and then all others.
    Second(Vec<Write>),
}

/// An output being assembled. Calls must not overlap. They return the number of bytes written in addition to the encoded
/// data, and fail as [`Assembler`] does, or with `target`.
pub(super) struct Assembly<'a, B> {
    target: &'a dyn Target<B>,
    /// See [`Layout::reserved`].
    reserved: u64,
    assembler: RefCell<Box<dyn Assembler>>,
    pass: Pass,
    /// The length of the output so far, in bytes.
    end: Cell<u64>,
}

impl<'a, B: for<'b> From<&'b [u8]>> Assembly<'a, B> {
    /// Returns `None` for a plain output. Fails as [`Layout::assembler`] does.
    pub(super) fn new(
        layout: &dyn Layout,
        stamp: &Stamp,
        target: &'a dyn Target<B>,
        pass: Pass,
    ) -> Result<Option<Self>> {
        let reserved = layout.reserved();
        let assembler = layout.assembler(stamp)?;
        let of = |assembler| Self { target, reserved, assembler: RefCell::new(assembler), pass, end: Cell::new(0) };
        Ok(assembler.map(of))
    }

    /// The length of the output so far, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.end.get()
    }

    pub(super) async fn begin(&self) -> Result<u64> {
        let mut added = 0;
        if let Pass::Second(first) = &self.pass {
            for write in first {
                added += self.apply(write, None).await?;
            }
        }
        self.end.set(self.end.get().max(self.reserved));
        Ok(added + self.assemble(None, |assembler, writes| assembler.begin(writes)).await?.written)
    }

    /// Places `parts` of `bytes`, the data of `region`.
    pub(super) async fn place(&self, region: GuestRange, bytes: Option<&B>, parts: &[EncodedPart]) -> Result<u64> {
        let placed = self.assemble(bytes, |assembler, writes| assembler.place(region, parts, writes)).await?;
        Ok(placed.written)
    }

    /// Ends the output after the zeros of `padding`. Fails with `source` if the first bytes differ from those of the
    /// first pass.
    pub(super) async fn finish(&self, padding: GuestRange) -> Result<Assembled> {
        self.assemble(None, |assembler, writes| {
            assembler.place(padding, &[], writes)?;
            assembler.finish(writes)
        })
        .await
    }

    /// Asks the assembler for writes, and performs those that belong to the pass.
    async fn assemble(
        &self,
        bytes: Option<&B>,
        ask: impl FnOnce(&mut dyn Assembler, &mut Writes) -> Result<()>,
    ) -> Result<Assembled> {
        let mut writes = Writes::default();
        ask(&mut **self.assembler.borrow_mut(), &mut writes)?;
        let mut done = Assembled::default();
        for write in writes.0 {
            match &self.pass {
                Pass::First if write.offset() < self.reserved => done.first.push(write),
                Pass::First => self.end.set(write.end()),
                Pass::Second(first) if write.offset() < self.reserved => {
                    if !first.contains(&write) {
                        return Err(changed());
                    }
                }
                Pass::Only | Pass::Second(_) => {
                    // A file must not begin like an image before all its data is written.
                    if write.offset() < self.reserved {
                        self.target.settle().await?;
                    }
                    done.written += self.apply(&write, bytes).await?;
                }
            }
        }
        // The assembler returns the header last, although the output begins with it.
        done.first.sort_by_key(Write::offset);
        Ok(done)
    }

    /// Performs a write, after the hole before it. Returns the number of bytes that are not encoded data.
    async fn apply(&self, write: &Write, bytes: Option<&B>) -> Result<u64> {
        let added = self.extend_to(write.offset()).await?;
        match write {
            Write::Parts { offset, start, len } => {
                if let Some(bytes) = bytes {
                    self.write_run(bytes, Run { offset: *offset, start: *start, len: *len }).await?;
                }
                Ok(added)
            }
            Write::Own { offset, bytes, times } => {
                let (len, bytes) = (bytes.len(), B::from(bytes));
                for number in 0..*times {
                    self.write_run(&bytes, Run { offset: offset + number * len as u64, start: 0, len }).await?;
                }
                Ok(added + len as u64 * times)
            }
        }
    }

    async fn write_run(&self, bytes: &B, run: Run) -> Result<()> {
        self.target.write(bytes, &[run]).await?;
        self.end.set(self.end.get().max(run.end()));
        Ok(())
    }

    /// Makes the bytes up to `offset` a hole. Returns the number of zeros that the target writes for it.
    async fn extend_to(&self, offset: u64) -> Result<u64> {
        let (end, holes) = (self.end.get(), self.target.abilities().holes);
        if offset <= end || holes == Holes::Skip {
            return Ok(0);
        }
        self.target.hole(end, offset - end).await?;
        Ok(if holes == Holes::WriteZeros { offset - end } else { 0 })
    }
}

/// The result of placing or finishing.
#[derive(Default)]
pub(super) struct Assembled {
    /// The number of bytes written in addition to the encoded data.
    pub(super) written: u64,
    /// The writes of the first bytes, ascending.
    pub(super) first: Vec<Write>,
}

fn changed() -> Error {
    Error::new(ErrorKind::Source, "The image has changed between the two passes over it").coded("source-changed")
}
