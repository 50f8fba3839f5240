//! Files whose bytes are delivered with a job.

use crate::convert::Job;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileRange, Source};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The bytes of one read.
pub(super) trait DeliveredBytes {
    fn len(&self) -> usize;

    /// Fills `buf` with the bytes from `start`.
    fn copy_to(&self, start: usize, buf: &mut [u8]);
}

struct Delivered<B> {
    /// Ascending and disjoint, like the reads of a job.
    ranges: Vec<(FileRange, B)>,
}

impl<B: DeliveredBytes> Delivered<B> {
    fn copy(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let number = self.ranges.partition_point(|(range, _)| range.end() <= offset);
        let missing = || Error::new(ErrorKind::Internal, format!("A job has not brought byte {offset} of a file"));
        let (range, bytes) = self.ranges.get(number).ok_or_else(missing)?;
        let start = offset.checked_sub(range.start.0).ok_or_else(missing)? as usize;
        if start + buf.len() > bytes.len() {
            return Err(missing());
        }
        bytes.copy_to(start, buf);
        Ok(())
    }
}

impl<B: DeliveredBytes> Source for Delivered<B> {
    fn size(&self) -> u64 {
        self.ranges.last().map_or(0, |(range, _)| range.end())
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        ready(self.copy(offset.0, buf)).boxed_local()
    }
}

/// Returns the files for `job`: `opened`, and for each `None`, the bytes that were `brought`. Fails with `internal` if a read of the job
/// has brought none.
pub(super) fn files_of<B: DeliveredBytes + 'static>(
    job: &Job,
    opened: &[Option<Rc<dyn Source>>],
    mut brought: impl Iterator<Item = B>,
) -> Result<Vec<Rc<dyn Source>>> {
    let mut delivered: Vec<_> = opened.iter().map(|_| Delivered { ranges: Vec::new() }).collect();
    for read in &job.reads {
        let file = usize::from(read.file.0);
        if opened.get(file).is_some_and(Option::is_none) {
            let missing = || Error::new(ErrorKind::Internal, "A job has come without its bytes");
            delivered[file].ranges.push((*read, brought.next().ok_or_else(missing)?));
        }
    }
    let files = opened.iter().zip(delivered);
    Ok(files.map(|(file, delivered)| file.clone().unwrap_or_else(|| Rc::new(delivered))).collect())
}
