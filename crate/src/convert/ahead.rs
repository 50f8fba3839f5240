//! Plans jobs ahead, to announce reads early to sources on a network.

use super::job::Job;
use crate::error::Result;
use crate::io::source::{Announcement, FileId, FileRange, Files};
use crate::offsets::ByteRange;
use futures_util::stream::{Stream, poll_fn};
use std::collections::VecDeque;
use std::pin::pin;
use std::task::Poll;

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
