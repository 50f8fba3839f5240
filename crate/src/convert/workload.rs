//! How large jobs are and how many are in flight, within the memory of a conversion; plans jobs ahead, to announce reads early to sources on
//! a network.

use super::job::Job;
use crate::error::Result;
use crate::io::source::{Announcement, FileId, FileRange, Files};
use crate::offsets::ByteRange;
use futures_util::stream::{Stream, poll_fn};
use std::collections::VecDeque;
use std::pin::pin;
use std::task::Poll;

/// Maximum size that executors choose for jobs, in bytes. Slices of 16 to 32 MiB are read fastest, and a cancel waits
/// for the job being decoded.
pub const MAX_JOB: u64 = 32 << 20;
/// Maximum size, in bytes, of jobs that read announced ranges: a job waits until all its bytes have arrived.
const MAX_EXPECTING_JOB: u64 = 4 << 20;
/// Most bytes announced but not yet read.
const READ_AHEAD: u64 = 32 << 20;

/// Division of a conversion's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// For the jobs in flight.
    pub jobs: u64,
    /// Maximum size of a job.
    pub max_job: u64,
    /// For prefetching by sources.
    pub read_ahead: u64,
}

impl Budget {
    /// Divides `memory` for a conversion that reads `files`.
    pub fn new(files: &Files, memory: u64) -> Self {
        if !expect_any(files) {
            return Self { jobs: memory, max_job: MAX_JOB, read_ahead: 0 };
        }
        let read_ahead = READ_AHEAD.min(memory / 2);
        Self { jobs: memory - read_ahead, max_job: MAX_EXPECTING_JOB, read_ahead }
    }
}

fn expect_any(files: &Files) -> bool {
    files.iter().any(|file| file.profile().expects)
}

/// The files that an executor's jobs read, and how many jobs to keep in flight.
pub struct Workload {
    /// The files that jobs read.
    pub files: Files,
    /// Upper bound, in bytes, on the input and on the output of a job.
    pub(crate) job_bytes: u64,
    /// The number of jobs of `job_bytes` bytes in flight that keeps the executor busy.
    pub(crate) depth: usize,
    /// How many more jobs the executor keeps, without data, if they may end in any order.
    pub ahead: usize,
    /// Upper bound, in bytes, on the reads that are announced ahead to files that expect them. 0 announces the next job
    /// only.
    pub read_ahead: u64,
}

impl Workload {
    /// Divides `memory` bytes among `depth` jobs in flight that read `files`. They hold about `buffers` job-sized
    /// buffers.
    pub fn within(memory: u64, files: Files, depth: usize, buffers: u64) -> Self {
        let Budget { jobs, max_job, read_ahead } = Budget::new(&files, memory);
        Self { files, job_bytes: (jobs / buffers).min(max_job), depth, ahead: 0, read_ahead }
    }

    /// The number of jobs to keep in flight if the largest one has `largest` bytes: fewer if that exceeds `job_bytes`,
    /// to stay within the memory.
    pub(super) fn jobs_in_flight(&self, largest: u64) -> usize {
        (self.depth as u64 * self.job_bytes / largest).max(1) as usize
    }
}

/// Bytes that each job counts for besides its reads, since even a job without reads takes memory.
const OWN: u64 = 4 << 10;

/// Yields the jobs of `plan`, in order. Plans ahead, without waiting, until pending jobs read `read_ahead` bytes of
/// `files`, and announces their reads.
pub(super) fn planned_ahead(
    plan: impl Stream<Item = Result<Job>>,
    files: Files,
    read_ahead: u64,
) -> impl Stream<Item = Result<Job>> {
    let mut plan = Box::pin(plan);
    let mut planned: VecDeque<Result<Job>> = VecDeque::new();
    let (mut ahead, mut has_ended) = (0, false);
    let announcements: Vec<_> = files.iter().map(Announcement::to).collect();
    poll_fn(move |context| {
        let files = &files;
        let mut announced = vec![Vec::new(); files.len()];
        while !has_ended && (planned.is_empty() || ahead < read_ahead) {
            match pin!(&mut plan).poll_next(context) {
                Poll::Pending => break,
                Poll::Ready(None) => has_ended = true,
                Poll::Ready(Some(job)) => {
                    if let Ok(job) = &job {
                        ahead += weight(job, files);
                        add_reads(job, files, &mut announced);
                    }
                    planned.push_back(job);
                }
            }
        }
        for (announcement, ranges) in announcements.iter().zip(&announced) {
            if let Some(announcement) = announcement {
                announcement.announce(ranges);
            }
        }
        match planned.pop_front() {
            Some(job) => {
                ahead -= job.as_ref().map_or(0, |job| weight(job, files));
                Poll::Ready(Some(job))
            }
            None if has_ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    })
}

/// The reads of `job` in files that expect announcements.
fn expected<'a>(job: &'a Job, files: &Files) -> impl Iterator<Item = &'a FileRange> {
    let expects = |file: FileId| files.get(usize::from(file.0)).is_some_and(|file| file.profile().expects);
    job.reads.iter().filter(move |read| expects(read.file))
}

fn weight(job: &Job, files: &Files) -> u64 {
    OWN + expected(job, files).map(|read| read.len).sum::<u64>()
}

fn add_reads(job: &Job, files: &Files, announced: &mut [Vec<ByteRange>]) {
    for read in expected(job, files) {
        announced[usize::from(read.file.0)].push(ByteRange { start: read.start, len: read.len });
    }
}
