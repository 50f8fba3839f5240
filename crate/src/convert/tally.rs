//! Sums up the finished jobs of a pass, and divides the disk among jobs.

use super::disk_source::Plan;
use super::executor::ExecutedJob;
use super::job::Job;
use super::progress::{Progress, ResumePoint, Settled};
use super::sum::DiskSum;
use super::sums::Sums;
use crate::compress::GuestRun;
use crate::disk::info::Notice;
use crate::disk::losses::LostRanges;
use crate::error::Result;
use crate::offsets::{GuestOffset, GuestRange};
use std::cell::Cell;
use std::rc::Rc;

/// The sum of the finished jobs of a pass.
pub(super) struct Tally {
    pub(super) done: Progress,
    pub(super) settled: Settled,
    pub(super) lost: LostRanges,
    pub(super) sums: Sums,
    pub(super) large_sectors: bool,
    /// See [`Plan::position`].
    pub(super) position: Option<Rc<Cell<u64>>>,
    /// See [`Plan::sum`].
    pub(super) sum: Option<(DiskSum, bool)>,
}

impl Tally {
    pub(super) fn new(plan: &Plan, start: ResumePoint) -> Self {
        let ResumePoint { guest: GuestOffset(guest_done), written } = start;
        Self {
            done: Progress { guest_done, written, settled: start, ..Progress::default() },
            settled: Settled::new(start),
            lost: LostRanges::default(),
            sums: Sums::default(),
            large_sectors: false,
            position: plan.position(),
            sum: plan.sum(),
        }
    }

    /// Adds a job for `range`. `data`: the bytes of the range that the image stores as data.
    pub(super) fn add<B>(&mut self, range: GuestRange, data: u64, executed: ExecutedJob<B>) {
        let done = &mut self.done;
        done.guest_done += range.len();
        done.latest = range;
        done.data_done += data;
        done.read = self.position.as_ref().map_or(done.read + executed.read, |position| position.get());
        done.written += executed.written;
        self.settled.add(range, executed.written);
        done.settled = self.settled.point;
        self.lost.add(range, executed.lost);
        self.large_sectors |= executed.large_sectors;
        if let Some((sum, _)) = &mut self.sum {
            sum.add(range, executed.crc);
        }
    }

    /// Compares the disk with its stated checksum, if there is one. In a salvage, returns a notice if they differ; otherwise fails with
    /// `corrupt`.
    pub(super) fn mismatch(&self) -> Result<Option<Notice>> {
        match &self.sum {
            Some((sum, is_salvaged)) => match sum.check() {
                Err(_) if *is_salvaged => Ok(Some(sum.stated.mismatch())),
                checked => checked.map(|()| None),
            },
            None => Ok(None),
        }
    }
}

/// Divides the disk among jobs, in the order in which they are planned.
pub(super) struct Regions {
    unit: u64,
    /// Where the last job ends, if that is known.
    end: Box<dyn Fn() -> Option<u64>>,
    /// Ends of the last job's guest range and region.
    planned: GuestOffset,
    placed: GuestOffset,
}

impl Regions {
    /// If the size is unknown, a region ends where its job does: all jobs but the last end at a unit boundary.
    pub(super) fn new(unit: u64, end: Box<dyn Fn() -> Option<u64>>, ResumePoint { guest, .. }: ResumePoint) -> Self {
        let unit = if end().is_some() { unit } else { 1 };
        Self { unit, end, planned: guest, placed: guest }
    }

    /// Returns the guest range that `job` accounts for, and its region: the range whose data and holes all belong to
    /// the job. The region ends at a unit boundary, since another job may have data in the next unit.
    pub(super) fn next(&mut self, job: &Job) -> (GuestRange, GuestRange) {
        let range = GuestRange { start: self.planned, end: self.planned + job.span };
        let is_last = (self.end)() == Some(range.end.0);
        let whole = if is_last { range.end } else { range.end.align_down(self.unit) };
        let end = whole.max(job.guest_ranges.last().map_or(GuestOffset(0), GuestRun::end)).max(self.placed);
        let region = GuestRange { start: self.placed, end };
        (self.planned, self.placed) = (range.end, end);
        (range, region)
    }
}
