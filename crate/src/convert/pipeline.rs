//! The pipeline: jobs in flight, so that reading, decoding and writing overlap; finished jobs
//! reach the sink in the order it asks for.

use super::job::Job;
use super::plan::{JobLimits, Planner};
use crate::damage::{Lost, LostRanges};
use crate::error::{Error, ErrorKind, Result};
use crate::image::Image;
use crate::sink::{Run, Sink};
use futures_util::future::{Either, LocalBoxFuture, select};
use futures_util::pin_mut;
use futures_util::stream::{TryStreamExt, try_unfold};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Runs jobs: reads what they need and decodes it, somewhere.
pub trait Executor {
    /// The buffers that it hands over.
    type Bytes;

    /// How large a job may be, in bytes of input and of output.
    fn job_bytes(&self) -> u64;

    /// How many jobs keep it busy, with one ahead of each that decodes; fewer where jobs must be
    /// larger than it would have them, `job_bytes`, so that all of them stay within its budget.
    fn depth(&self, job_bytes: u64) -> usize;

    /// Runs one job.
    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<Decoded<Self::Bytes>>>;
}

/// What came of a job.
pub struct Decoded<B> {
    /// The data and where it belongs; `None` where the executor has written it by itself.
    pub output: Option<(B, Vec<Run>)>,
    /// Bytes of the image that were read for it.
    pub read: u64,
    /// Bytes of data that it has, zeros left out.
    pub written: u64,
    /// What of it was lost, when damage is tolerated.
    pub lost: Vec<Lost>,
}

/// What came of a conversion.
#[derive(Debug)]
pub struct Converted {
    /// How far it came: to the end.
    pub progress: Progress,
    /// What was lost, in guest order, when damage is tolerated.
    pub lost: Vec<Lost>,
}

/// How far a conversion has come, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Of the disk that the guest sees, done.
    pub guest_done: u64,
    /// The virtual size.
    pub guest_total: u64,
    /// Of that, what is stored in the image: what takes the time.
    pub data_done: u64,
    /// Of data read for decoding.
    pub read: u64,
    /// Of data written.
    pub written: u64,
    /// Whether all data is written and the file is being completed.
    pub finalizing: bool,
}

/// Ends a conversion from outside.
#[derive(Default)]
pub struct Cancel {
    cancelled: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Cancel {
    /// Ends the conversion that watches this; it fails with `cancelled`.
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

/// Converts the whole disk of `image` into `sink`. After a failure or a cancel the sink is aborted.
///
/// A cancel is obeyed at once, but for the last step: a sink that is completing its file is left to
/// end that, and is then aborted.
pub async fn convert<E: Executor>(
    image: &Image,
    executor: &E,
    sink: &dyn Sink<E::Bytes>,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    let result = run(image, executor, sink, progress, cancel).await;
    if result.is_err() {
        sink.abort().await;
    }
    result
}

async fn run<E: Executor>(
    image: &Image,
    executor: &E,
    sink: &dyn Sink<E::Bytes>,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    let mut done = {
        let work = transfer(image, executor, sink, progress);
        let cancelled = cancel.cancelled();
        pin_mut!(work, cancelled);
        match select(cancelled, work).await {
            Either::Left(_) => return Err(Cancel::error()),
            Either::Right((result, _)) => result?,
        }
    };
    done.progress.finalizing = true;
    progress(done.progress);
    sink.finish().await?;
    cancel.check()?;
    Ok(done)
}

/// Moves all data.
async fn transfer<E: Executor>(
    image: &Image,
    executor: &E,
    sink: &dyn Sink<E::Bytes>,
    progress: &dyn Fn(Progress),
) -> Result<Converted> {
    let virtual_size = image.virtual_size();
    let largest = executor.job_bytes().max(image.largest_job());
    let limits = JobLimits { bytes: executor.job_bytes(), short_hole: sink.short_hole(), dense: sink.dense() };
    let planner = Planner::new(image, limits)?;
    sink.set_len(virtual_size).await?;
    let mut lost_ranges = LostRanges::default();
    let mut done = Progress { guest_total: virtual_size, ..Progress::default() };
    progress(done);
    let turns = sink.ordered().then(Turns::default);
    let jobs =
        try_unfold(
            planner,
            |mut planner| async move { Ok::<_, Error>(planner.next().await?.map(|job| (job, planner))) },
        );
    let turns = turns.as_ref();
    let finished = jobs
        .map_ok(|job| async move {
            let (index, span, data) = (job.index, job.span, job.data_len());
            let mut decoded = executor.execute(job).await?;
            if let Some(turns) = turns {
                turns.wait(index).await;
            }
            // The buffer goes back as soon as it is written.
            if let Some((bytes, runs)) = decoded.output.take() {
                sink.write(&bytes, &runs).await?;
            }
            if let Some(turns) = turns {
                turns.pass(index);
            }
            Ok((span, data, decoded))
        })
        .try_buffer_unordered(executor.depth(largest));
    pin_mut!(finished);
    while let Some((span, data, decoded)) = finished.try_next().await? {
        done.guest_done += span;
        done.data_done += data;
        done.read += decoded.read;
        done.written += decoded.written;
        lost_ranges.extend(decoded.lost);
        progress(done);
    }
    Ok(Converted { progress: done, lost: lost_ranges.finish() })
}

/// Lets jobs write one after the other, in guest order.
#[derive(Default)]
struct Turns {
    next: Cell<u64>,
    waiting: RefCell<HashMap<u64, Waker>>,
}

impl Turns {
    async fn wait(&self, index: u64) {
        poll_fn(|context| {
            if self.next.get() == index {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().insert(index, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn pass(&self, index: u64) {
        self.next.set(index + 1);
        if let Some(waker) = self.waiting.borrow_mut().remove(&(index + 1)) {
            waker.wake();
        }
    }
}
