//! The progress of a conversion, the point from which it can be resumed, and how it is cancelled.

use crate::error::{Error, ErrorKind, Result};
use crate::offsets::{GuestOffset, GuestRange};
use futures_util::future::{Either, select};
use futures_util::pin_mut;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// The progress of a conversion, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Converted part of the disk.
    pub guest_done: u64,
    /// The virtual size; `None` if it is known only at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_total: Option<u64>,
    /// The guest range of the last job; empty before the first one, and while finalizing.
    pub(crate) latest: GuestRange,
    /// The part of `guest_done` that the image stores as data. The time of a conversion is roughly proportional to it.
    pub(crate) data_done: u64,
    /// Data read so far, without tables. For a streamed disk: bytes of its file.
    pub read: u64,
    /// Written to the output so far.
    pub written: u64,
    /// Everything before this guest offset is written.
    pub settled: ResumePoint,
    /// Whether this is the first of two passes, in which nothing is written.
    pub measuring: bool,
    /// Whether all data is written, and the target is being finished.
    pub finalizing: bool,
}

impl Progress {
    /// The progress of the whole conversion while this is that of one disk. `before` is the progress before this disk.
    pub(super) fn after(self, before: &Self) -> Self {
        Self {
            guest_done: before.guest_done + self.guest_done,
            guest_total: before.guest_total,
            latest: GuestRange {
                start: self.latest.start + before.guest_done,
                end: self.latest.end + before.guest_done,
            },
            data_done: before.data_done + self.data_done,
            read: before.read + self.read,
            written: before.written + self.written,
            ..self
        }
    }
}

/// A point up to which the output is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResumePoint {
    /// Everything before this guest offset, in bytes, is written.
    pub guest: GuestOffset,
    /// Number of bytes written for it.
    pub(crate) written: u64,
}

/// Tracks the finished jobs of a conversion. Jobs account for the disk without gaps.
pub(super) struct Settled {
    /// Everything before this point is written.
    pub(super) point: ResumePoint,
    /// The few jobs that finished before an earlier one, with the bytes that each has written.
    ahead: Vec<(GuestRange, u64)>,
}

impl Settled {
    pub(super) fn new(point: ResumePoint) -> Self {
        Self { point, ahead: Vec::new() }
    }

    /// Records the end of a job that accounts for `range` and has written `written` bytes.
    pub(super) fn add(&mut self, range: GuestRange, written: u64) {
        self.ahead.push((range, written));
        while let Some(next) = self.ahead.iter().position(|(range, _)| range.start == self.point.guest) {
            let (range, written) = self.ahead.swap_remove(next);
            self.point = ResumePoint { guest: range.end, written: self.point.written + written };
        }
    }
}

/// Cancels a conversion from outside.
#[derive(Default)]
pub struct Cancel {
    cancelled: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Cancel {
    /// Cancels the conversion that uses this `Cancel`, which then fails with `cancelled`.
    pub fn cancel(&self) {
        self.cancelled.set(true);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Fails with `cancelled` after a cancel.
    pub fn check(&self) -> Result<()> {
        if self.cancelled.get() { Err(Self::error()) } else { Ok(()) }
    }

    /// Returns the result of `operation`. After `cancel`, drops `operation` and fails with `cancelled`.
    pub(crate) async fn or<T>(&self, operation: impl Future<Output = Result<T>>) -> Result<T> {
        let cancelled = self.cancelled();
        pin_mut!(operation, cancelled);
        match select(cancelled, operation).await {
            Either::Left(_) => Err(Self::error()),
            Either::Right((result, _)) => result,
        }
    }

    async fn cancelled(&self) {
        poll_fn(|context| {
            if self.cancelled.get() {
                return Poll::Ready(());
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    fn error() -> Error {
        Error::new(ErrorKind::Cancelled, "The conversion was cancelled")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_job_is_settled_after_all_earlier_jobs() {
        let mut settled = Settled::new(ResumePoint { guest: GuestOffset(10), written: 5 });
        let mut add = |start, end, written| {
            settled.add(GuestRange::from(start..end), written);
            (settled.point.guest.0, settled.point.written)
        };
        assert_eq!(add(30, 40, 1), (10, 5));
        assert_eq!(add(20, 30, 0), (10, 5));
        assert_eq!(add(10, 20, 2), (40, 8));
        assert_eq!(add(40, 41, 1), (41, 9));
    }
}
