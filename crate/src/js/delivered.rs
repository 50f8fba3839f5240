//! A file whose bytes were delivered with a job.

use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileRange, Source};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::Uint8Array;

#[derive(Default)]
pub(super) struct Delivered {
    /// Ascending and disjoint, like the reads of a job.
    ranges: Vec<(FileRange, Uint8Array)>,
}

impl Delivered {
    /// Adds the bytes of `range`, which must be after all earlier ranges.
    pub(super) fn push(&mut self, range: FileRange, bytes: Uint8Array) {
        self.ranges.push((range, bytes));
    }

    fn copy(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let number = self.ranges.partition_point(|(range, _)| range.end() <= offset);
        let missing = || Error::new(ErrorKind::Internal, format!("A job has not brought byte {offset} of a file"));
        let (range, bytes) = self.ranges.get(number).ok_or_else(missing)?;
        let start = offset.checked_sub(range.start.0).ok_or_else(missing)?;
        let end = start + buf.len() as u64;
        if end > u64::from(bytes.length()) {
            return Err(missing());
        }
        bytes.subarray(start as u32, end as u32).copy_to(buf);
        Ok(())
    }
}

impl Source for Delivered {
    fn size(&self) -> u64 {
        self.ranges.last().map_or(0, |(range, _)| range.end())
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        ready(self.copy(offset.0, buf)).boxed_local()
    }
}
