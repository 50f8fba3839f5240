//! The pipeline: keeps several jobs in flight, so that reading, decoding and writing overlap.

use super::assembly::Pass;
use super::in_order::{InOrder, InOrderPlanner};
use super::job::Job;
use super::output::{FinishedOutput, Output, OutputWriter};
use super::plan::{JobLimits, Planner};
use super::progress::{Cancel, Progress, ResumePoint, Settled};
use super::sector_size;
use super::sum::DiskSum;
use super::workload::Workload;
use super::workload::planned_ahead;
use crate::compress::{GuestRun, Placement};
use crate::container::block_source::BlockSource;
use crate::disk::info::{Notice, SECTOR_SIZE};
use crate::disk::losses::{Losses, Lost, LostRanges};
use crate::error::{Error, Result};
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::Checksum;
use crate::open::image::Image;
use crate::open::manifest::Manifest;
use crate::output::Write;
use futures_util::future::{LocalBoxFuture, try_join};
use futures_util::pin_mut;
use futures_util::stream::{TryStreamExt, try_unfold};
use std::cell::Cell;
use std::rc::Rc;

/// Runs jobs: reads and decodes their data.
pub trait Executor {
    /// The type of its buffers. `From<&[u8]>` lets headers and footers be written.
    type Bytes: for<'a> From<&'a [u8]>;

    /// The files that jobs read, and how many jobs to keep in flight.
    fn workload(&self) -> &Workload;

    /// Runs one job. Fails with `source`, `corrupt`, `target` or `internal`.
    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Self::Bytes>>>;

    /// Takes back the buffer of a job after its data is written.
    fn take_back(&self, _bytes: Self::Bytes) {}
}

/// The result of a job, for the pipeline.
pub struct ExecutedJob<B> {
    /// The data and where it belongs; `None` if the executor has written all of it.
    pub(crate) output: Option<(B, Placement)>,
    /// Number of bytes read.
    pub read: u64,
    /// Number of bytes that the job adds to the output, without zeros.
    pub written: u64,
    /// In a salvage: the ranges that could not be executed.
    pub(crate) lost: Vec<Lost>,
    /// Whether the data has a GPT for sectors of 4,096 bytes.
    pub(crate) large_sectors: bool,
    /// The CRC-32 of [`Job::summed`]; `None` if the job had no data.
    pub(crate) crc: Option<u32>,
}

/// The result of a conversion.
#[derive(Debug)]
pub struct Converted {
    /// The final progress.
    pub progress: Progress,
    /// The size of the disk that the guest sees, in bytes.
    pub virtual_size: u64,
    /// The size of the output, in bytes.
    pub output_size: u64,
    /// Notices on the result.
    pub notices: Vec<Notice>,
    /// In a salvage: the lost ranges.
    pub lost: Losses,
}

/// Converts the whole disk of `image` into `output`, and reports progress after each job. A cancel takes effect at
/// once. After a failure or a cancel the target is aborted.
///
/// Fails with `missing-file` or `password` if a file or key is missing, with `cancelled`, as reading, decoding and writing do, and with
/// the code `needs-spool` if the image is read in place and its disk is stored in another order than it has.
pub async fn convert<E: Executor>(
    image: &Image,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    resume(image, executor, output, ResumePoint::default(), progress, cancel).await
}

/// Resumes an interrupted [`convert`] of the same image to the same output. `begun` is the last [`Progress::settled`]
/// of the earlier conversion: everything before it must be in the output. The output must be plain, and its
/// target must take writes in any order.
pub async fn resume<E: Executor>(
    image: &Image,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    begun: ResumePoint,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    let limits = output.limits(executor.workload().job_bytes);
    let end = GuestOffset(image.virtual_size());
    // A unit is written by one job only. The last one of the disk may be short.
    let guest = if begun.guest >= end { end } else { begun.guest.align_down(limits.unit) };
    let begun = ResumePoint { guest, ..begun };
    let checks = check_manifest(image.manifest());
    let _limited = image.blocks().map(BlockSource::limited);
    let plan = || Plan::of_image(image, limits, begun);
    let done = run(plan, checks, executor, output, begun, progress, cancel).await;
    let mut done = done.map_err(|error| image.explain(error))?;
    if image.info().safety.iter().any(|notice| notice.code == SECTOR_SIZE) {
        done.notices.retain(|notice| notice.code != SECTOR_SIZE);
    }
    Ok(done)
}

/// Converts the whole streamed `disk` like [`convert`]. Unless its size is stated, the layout of `output` must come from
/// [`OutputFormat::layout_in_order`](crate::output::OutputFormat::layout_in_order). `executor` must read from
/// [`InOrder::files`].
pub async fn convert_in_order<E: Executor>(
    disk: &InOrder<'_>,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    let limits = output.limits(executor.workload().job_bytes);
    let checks = check_manifest(disk.manifest());
    let plan = || Ok(Plan::InOrder(InOrderPlanner::new(disk, limits)?));
    let done = run(plan, checks, executor, output, ResumePoint::default(), progress, cancel).await;
    done.map_err(|error| disk.explain(error))
}

async fn check_manifest(manifest: Option<Rc<Manifest>>) -> Result<Vec<Notice>> {
    match manifest {
        Some(manifest) => manifest.check().await,
        None => Ok(Vec::new()),
    }
}

/// Converts the disk of `plan`. `checks` run concurrently and add notices; the target is finished only after both.
async fn run<E: Executor>(
    plan: impl Fn() -> Result<Plan>,
    checks: impl Future<Output = Result<Vec<Notice>>>,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    begun: ResumePoint,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    let conversion = async {
        let transferred = async {
            let (mut pass, mut size) = (Pass::Only, output.layout.output_size());
            if output.reads_twice()? {
                let measuring = |done: Progress| progress(Progress { measuring: true, ..done });
                let (done, first) = transfer(plan()?, executor, output, (Pass::First, None), begun, &measuring).await?;
                (pass, size) = (Pass::Second(first), Some(done.output_size));
            }
            let (mut done, _) = transfer(plan()?, executor, output, (pass, size), begun, progress).await?;
            done.progress = Progress { finalizing: true, latest: GuestRange::default(), ..done.progress };
            progress(done.progress);
            Ok(done)
        };
        let (mut done, notices) = try_join(transferred, checks).await?;
        done.notices.extend(notices);
        output.target.finish().await?;
        Ok(done)
    };
    let result = cancel.or(conversion).await;
    if result.is_err() {
        output.target.abort().await;
    }
    result
}

/// The source of a conversion's jobs.
enum Plan {
    Image {
        planner: Planner,
        virtual_size: u64,
        /// See [`Image::largest_unit`].
        largest_unit: u64,
        /// The size of the image's own files, in bytes.
        stored: u64,
        checksum: Option<Checksum>,
        salvage: bool,
    },
    InOrder(InOrderPlanner),
}

impl Plan {
    fn of_image(image: &Image, limits: JobLimits, begun: ResumePoint) -> Result<Self> {
        let rest = GuestRange { start: begun.guest, end: GuestOffset(image.virtual_size()) };
        let planner = Planner::new(image, image.extents()?.continue_with(rest), limits);
        let checksum = match image.checksum().cloned() {
            // The earlier conversion has read the start of the disk, so the checksum of the whole disk cannot be computed.
            Some(Checksum::Of(stated)) if begun.guest > GuestOffset(0) => Some(Checksum::Around(stated)),
            checksum => checksum,
        };
        let planner = match &checksum {
            Some(Checksum::Of(stated)) => planner.summing(stated.size()),
            _ => planner,
        };
        Ok(Self::Image {
            planner,
            checksum,
            salvage: image.is_salvaged(),
            virtual_size: image.virtual_size(),
            largest_unit: image.largest_unit(),
            stored: image.stored(),
        })
    }

    /// The virtual size; `None` until the stream ends.
    fn virtual_size(&self) -> Option<u64> {
        match self {
            Self::Image { virtual_size, .. } => Some(*virtual_size),
            Self::InOrder(planner) => planner.size(),
        }
    }

    fn largest_unit(&self) -> u64 {
        match self {
            Self::Image { largest_unit, .. } => *largest_unit,
            Self::InOrder(_) => 0,
        }
    }

    /// The number of bytes read from the file; `None` if each job reports its own reads.
    fn position(&self) -> Option<Rc<Cell<u64>>> {
        match self {
            Self::Image { .. } => None,
            Self::InOrder(planner) => Some(planner.position()),
        }
    }

    /// Returns a function that makes the notices of the conversion. It is called after the last job.
    fn notices(&self) -> Box<dyn Fn() -> Vec<Notice>> {
        match self {
            Self::Image { planner, stored, checksum, .. } => {
                let (count, stored) = (planner.count(), *stored);
                let unchecked = match checksum {
                    Some(Checksum::Around(stated)) => Some(stated.unchecked()),
                    _ => None,
                };
                Box::new(move || count.get().notices(stored).into_iter().chain(unchecked.clone()).collect())
            }
            Self::InOrder(planner) => {
                let found = planner.notices();
                Box::new(move || found.take())
            }
        }
    }

    /// The sum that compares the disk with its stated checksum, if there is one, and whether the image is salvaged.
    fn sum(&self) -> Option<(DiskSum, bool)> {
        match self {
            Self::Image { checksum: Some(Checksum::Of(stated)), salvage, .. } => {
                Some((DiskSum::new(stated.clone()), *salvage))
            }
            _ => None,
        }
    }

    async fn next(&mut self) -> Result<Option<Job>> {
        match self {
            Self::Image { planner, .. } => planner.next().await,
            Self::InOrder(planner) => planner.next().await,
        }
    }
}

/// Runs all jobs and finishes the output, but not the target. `size` is that of the output in bytes, if it is known. A first
/// pass does not touch the target; it returns the first bytes of the output.
async fn transfer<E: Executor>(
    plan: Plan,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    (pass, size): (Pass, Option<u64>),
    begun: ResumePoint,
    progress: &dyn Fn(Progress),
) -> Result<(Converted, Vec<Write>)> {
    let Output { layout, target, .. } = output;
    let guest_total = plan.virtual_size();
    let workload = executor.workload();
    let largest = workload.job_bytes.max(output.weight(plan.largest_unit()));
    // Executors queue `ahead` jobs whatever their size: too many of the largest ones would not fit into the memory.
    let ahead = if output.is_ordered() || largest > workload.job_bytes { 0 } else { workload.ahead };
    let (position, notices_of_disk, mut sum) = (plan.position(), plan.notices(), plan.sum());
    let is_first = matches!(pass, Pass::First);
    let output_writer = OutputWriter::new(output, pass)?;
    if !is_first {
        target.open(guest_total.and(size)).await?;
    }
    let mut lost_ranges = LostRanges::default();
    let mut large_sectors = false;
    let ResumePoint { guest: GuestOffset(guest_done), written } = begun;
    let mut done = Progress { guest_total, guest_done, written, settled: begun, ..Progress::default() };
    let mut settled = Settled::new(begun);
    progress(done);
    let output_writer = &output_writer;
    done.written += output_writer.begin().await?;
    let mut regions = Regions::new(layout.unit(), guest_total, begun);
    let jobs = try_unfold(plan, |mut plan| async move { Ok::<_, Error>(plan.next().await?.map(|job| (job, plan))) });
    let finished = planned_ahead(jobs, workload.files.clone(), workload.read_ahead)
        .map_ok(|mut job| (regions.next(&job), std::mem::take(&mut job.lost), job))
        .map_ok(|((range, region), mut lost, job)| async move {
            let (index, data, stretches) = (job.index, job.data_len(), output_writer.stretches_of(&job)?);
            let mut executed = executor.execute(job).await?;
            lost.splice(0..0, executed.lost.drain(..));
            executed.written += output_writer.place(index, region, &stretches, executed.output.as_ref()).await?;
            if let Some((bytes, _)) = executed.output.take() {
                executor.take_back(bytes);
            }
            Ok((range, data, lost, executed))
        })
        .try_buffer_unordered(workload.jobs_in_flight(largest) + ahead);
    pin_mut!(finished);
    while let Some((range, data, lost, executed)) = finished.try_next().await? {
        done.guest_done += range.len();
        done.latest = range;
        done.data_done += data;
        done.read = position.as_ref().map_or(done.read + executed.read, |position| position.get());
        done.written += executed.written;
        settled.add(range, executed.written);
        done.settled = settled.point;
        lost_ranges.add(range, lost);
        large_sectors |= executed.large_sectors;
        if let Some((sum, _)) = &mut sum {
            sum.add(range, executed.crc);
        }
        progress(done);
        if guest_total.is_none() {
            // Fails as soon as the disk exceeds the format's limit.
            layout.resized(done.guest_done)?;
        }
    }
    let mismatch = match &sum {
        Some((sum, is_salvaged)) => match sum.check() {
            Err(_) if *is_salvaged => Some(sum.stated.mismatch()),
            checked => checked.map(|()| None)?,
        },
        None => None,
    };
    let virtual_size = done.guest_done;
    let resized = if guest_total.is_none() { Some(layout.resized(virtual_size)?) } else { None };
    let layout = resized.as_deref().unwrap_or(*layout);
    let FinishedOutput { written, output_size, first } = output_writer.finish(layout, virtual_size).await?;
    done.written += written;
    let lost = lost_ranges.finish();
    let sectors = large_sectors.then(sector_size::notice);
    let notices = layout.notice().into_iter().chain(notices_of_disk()).chain(sectors).chain(mismatch).collect();
    Ok((Converted { progress: done, virtual_size, output_size, notices, lost }, first))
}

/// Divides the disk among jobs, in the order in which they are planned.
struct Regions {
    unit: u64,
    virtual_size: u64,
    /// Ends of the last job's guest range and region.
    planned: GuestOffset,
    placed: GuestOffset,
}

impl Regions {
    /// If the size is unknown, all jobs but the last have whole units.
    fn new(unit: u64, virtual_size: Option<u64>, ResumePoint { guest, .. }: ResumePoint) -> Self {
        match virtual_size {
            Some(virtual_size) => Self { unit, virtual_size, planned: guest, placed: guest },
            None => Self { unit: 1, virtual_size: 0, planned: guest, placed: guest },
        }
    }

    /// Returns the guest range that `job` accounts for, and its region: the range whose data and holes all belong to
    /// the job. The region ends at a unit boundary, since another job may have data in the next unit.
    fn next(&mut self, job: &Job) -> (GuestRange, GuestRange) {
        let range = GuestRange { start: self.planned, end: self.planned + job.span };
        let is_last = range.end.0 == self.virtual_size;
        let whole = if is_last { range.end } else { range.end.align_down(self.unit) };
        let end = whole.max(job.stretches.last().map_or(GuestOffset(0), GuestRun::end)).max(self.placed);
        let region = GuestRange { start: self.placed, end };
        (self.planned, self.placed) = (range.end, end);
        (range, region)
    }
}
