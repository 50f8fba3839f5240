//! Tracks how much of the disk is written without a gap; jobs finish in any order.

use crate::offsets::{GuestOffset, GuestRange};

/// A point up to which the output is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// Everything before this guest offset, in bytes, is written.
    pub guest: GuestOffset,
    /// Number of bytes written for it.
    pub(crate) written: u64,
}

/// Tracks the finished jobs of a conversion. Jobs account for the disk without gaps.
pub(super) struct Settled {
    pub(super) begun: ResumePoint,
    /// The few jobs that finished before an earlier one, with the bytes that each has written.
    ahead: Vec<(GuestRange, u64)>,
}

impl Settled {
    pub(super) fn new(begun: ResumePoint) -> Self {
        Self { begun, ahead: Vec::new() }
    }

    /// Records the end of a job that accounts for `range` and has written `written` bytes.
    pub(super) fn add(&mut self, range: GuestRange, written: u64) {
        self.ahead.push((range, written));
        while let Some(next) = self.ahead.iter().position(|(range, _)| range.start == self.begun.guest) {
            let (range, written) = self.ahead.swap_remove(next);
            self.begun = ResumePoint { guest: range.end, written: self.begun.written + written };
        }
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
            (settled.begun.guest.0, settled.begun.written)
        };
        assert_eq!(add(30, 40, 1), (10, 5));
        assert_eq!(add(20, 30, 0), (10, 5));
        assert_eq!(add(10, 20, 2), (40, 8));
        assert_eq!(add(40, 41, 1), (41, 9));
    }
}
