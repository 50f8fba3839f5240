//! Writes an output as one gzip member: compressed segments of jobs, with zeros between them.

use crate::compress::Segment;
use crate::compress::gzip_member::{Member, Zeros, zero_unit};
use crate::error::Result;
use crate::io::target::{Run, Target};
use std::cell::{Cell, OnceCell};

/// A gzip member being written. Calls must not overlap. They fail with `target`, or with `internal` if memory runs out.
pub(super) struct GzipOutput<'a, B> {
    target: &'a dyn Target<B>,
    member: Cell<Member>,
    /// A unit of compressed zeros, made on first use.
    zeros: OnceCell<(B, usize)>,
    /// The length of the output so far, in bytes.
    end: Cell<u64>,
}

impl<'a, B: for<'b> From<&'b [u8]>> GzipOutput<'a, B> {
    pub(super) fn new(target: &'a dyn Target<B>) -> Self {
        Self { target, member: Cell::default(), zeros: OnceCell::new(), end: Cell::new(0) }
    }

    /// The length of the output so far, in bytes.
    pub(crate) fn written(&self) -> u64 {
        self.end.get()
    }

    /// Begins the member with `header`, the bytes before the disk.
    pub(super) async fn begin(&self, header: &[u8]) -> Result<()> {
        self.write_made(|member, output| {
            member.begin(output);
            member.bytes(header, output)
        })
        .await
    }

    /// Ends the member with `footer`, the bytes after the disk.
    pub(super) async fn end(&self, footer: &[u8]) -> Result<()> {
        self.write_made(|member, output| {
            member.bytes(footer, output)?;
            member.end(output);
            Ok(())
        })
        .await
    }

    /// Writes `segment` from `bytes`.
    pub(super) async fn segment(&self, bytes: &B, segment: &Segment) -> Result<()> {
        let mut member = self.member.get();
        member.segment(segment);
        self.member.set(member);
        self.write(bytes, segment.start, segment.encoded_len).await
    }

    /// Writes `len` zeros.
    pub(crate) async fn zeros(&self, len: u64) -> Result<()> {
        let mut member = self.member.get();
        let Zeros { units, last } = member.zeros(len)?;
        self.member.set(member);
        if units > 0 {
            let (unit, len) = self.zero_unit()?;
            for _ in 0..units {
                self.write(unit, 0, *len).await?;
            }
        }
        self.write(&B::from(&last), 0, last.len()).await
    }

    fn zero_unit(&self) -> Result<&(B, usize)> {
        if let Some(made) = self.zeros.get() {
            return Ok(made);
        }
        let unit = zero_unit()?;
        Ok(self.zeros.get_or_init(|| (B::from(&unit), unit.len())))
    }

    /// Writes the bytes that `make` appends to its buffer.
    async fn write_made(&self, make: impl FnOnce(&mut Member, &mut Vec<u8>) -> Result<()>) -> Result<()> {
        let (mut member, mut output) = (self.member.get(), Vec::new());
        make(&mut member, &mut output)?;
        self.member.set(member);
        self.write(&B::from(&output), 0, output.len()).await
    }

    async fn write(&self, bytes: &B, start: usize, len: usize) -> Result<()> {
        if len > 0 {
            self.target.write(bytes, &[Run { offset: self.end.get(), start, len }]).await?;
            self.end.set(self.end.get() + len as u64);
        }
        Ok(())
    }
}
