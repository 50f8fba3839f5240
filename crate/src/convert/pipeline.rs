//! The pipeline: keeps several jobs in flight, so that reading, decoding and writing overlap.

use super::in_order::{InOrder, InOrderPlanner};
use super::job::Job;
use super::output::{FinishedOutput, Output, OutputWriter, Pass};
use super::plan::{JobLimits, Planner};
use super::progress::{Cancel, Progress, ResumePoint, Settled};
use super::reshape::Reshaped;
use super::sector_size;
use super::sum::DiskSum;
use super::workload::{Workload, planned_ahead};
use crate::compress::{GuestRun, Placement};
use crate::container::block_source::BlockSource;
use crate::disk::info::{Notice, SECTOR_SIZE};
use crate::disk::losses::{Losses, Lost, LostRanges};
use crate::error::{Error, Result};
use crate::io::target::OutputBytes;
use crate::modules::prepare;
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
    /// The type of its buffers.
    type Bytes: OutputBytes;

    /// The files that jobs read, and how many jobs to keep in flight.
    fn workload(&self) -> &Workload;

    /// Runs one job. Fails with `source`, `corrupt`, `target` or `internal`.
    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Self::Bytes>>>;

    /// Takes back the buffer of a job after its data is written.
    fn take_back(&self, _bytes: Self::Bytes) {}
}

/// The result of a job, for the pipeline.
#[derive(Default)]
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
    /// The ranges of the disk that have other bytes than in the image.
    pub rewritten: Vec<GuestRange>,
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

/// Resumes an interrupted [`convert`] of the same image to the same output. `start` is the last [`Progress::settled`]
/// of the earlier conversion: everything before it must be in the output. The output must be plain, and its
/// target must take writes in any order.
pub async fn resume<E: Executor>(
    image: &Image,
    executor: &E,
    output: &Output<'_, E::Bytes>,
    start: ResumePoint,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<Converted> {
    let limits = output.limits(executor.workload().job_bytes);
    let reshaped = output.reshaped.clone();
    let end = GuestOffset(reshaped.as_ref().map_or(image.virtual_size(), |reshaped| reshaped.size));
    // A unit is written by one job only. The last one of the disk may be short.
    let guest = if start.guest >= end { end } else { start.guest.align_down(limits.unit) };
    let start = ResumePoint { guest, ..start };
    let checks = check_manifest(image.manifest());
    let _limited = image.blocks().map(BlockSource::limited);
    let conversion = Conversion { executor, output, start, progress };
    let done = conversion.run(|| Plan::of_image(image, reshaped.clone(), limits, start), checks, cancel).await;
    let mut done = done.map_err(|error| image.explain(error))?;
    if let Some(reshaped) = &output.reshaped {
        done.virtual_size = reshaped.virtual_size;
        done.rewritten = reshaped.rewritten();
        done.notices.extend(reshaped.notices.clone());
    }
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
    let conversion = Conversion { executor, output, start: ResumePoint::default(), progress };
    let plan = || Ok(Plan::InOrder(InOrderPlanner::new(disk, limits)?));
    let mut done = conversion.run(plan, checks, cancel).await.map_err(|error| disk.explain(error))?;
    done.virtual_size = disk.virtual_size().unwrap_or(done.virtual_size);
    done.rewritten = disk.rewritten();
    Ok(done)
}

async fn check_manifest(manifest: Option<Rc<Manifest>>) -> Result<Vec<Notice>> {
    match manifest {
        Some(manifest) => manifest.check().await,
        None => Ok(Vec::new()),
    }
}

/// One conversion: its executor, its output, the guest offset at which it starts, and the listener to its progress.
struct Conversion<'a, E: Executor> {
    executor: &'a E,
    output: &'a Output<'a, E::Bytes>,
    start: ResumePoint,
    progress: &'a dyn Fn(Progress),
}

impl<E: Executor> Conversion<'_, E> {
    /// Converts the disk of `plan`. `checks` run concurrently and add notices; the target is finished only after both.
    async fn run(
        &self,
        plan: impl Fn() -> Result<Plan>,
        checks: impl Future<Output = Result<Vec<Notice>>>,
        cancel: &Cancel,
    ) -> Result<Converted> {
        let conversion = async {
            let (mut done, notices) = try_join(self.passes(plan), checks).await?;
            done.notices.extend(notices);
            self.output.target.finish().await?;
            Ok(done)
        };
        let result = cancel.or(conversion).await;
        if result.is_err() {
            self.output.target.abort().await;
        }
        result
    }

    /// Writes the whole output, after a first pass over the disk if the output needs it.
    async fn passes(&self, plan: impl Fn() -> Result<Plan>) -> Result<Converted> {
        if self.output.layout.digests() {
            prepare(&decant_crypt::MODULE).await?;
        }
        let (mut pass, mut size) = (Pass::Only, self.output.layout.output_size());
        if self.output.needs_start() && self.output.layout.start_is_known() {
            pass = Pass::Second(self.output.known_start().await?);
        } else if self.output.needs_start() {
            self.output.check_two_passes()?;
            let measuring = |done: Progress| (self.progress)(Progress { measuring: true, ..done });
            let first =
                Conversion { executor: self.executor, output: self.output, start: self.start, progress: &measuring };
            let (done, first) = first.transfer(plan()?, Pass::First, None).await?;
            (pass, size) = (Pass::Second(first), Some(done.output_size));
        }
        let (mut done, _) = self.transfer(plan()?, pass, size).await?;
        done.progress = Progress { finalizing: true, latest: GuestRange::default(), ..done.progress };
        (self.progress)(done.progress);
        Ok(done)
    }

    /// Runs all jobs and finishes the output, but not the target. `size` is that of the output in bytes, if it is known. A first
    /// pass does not touch the target; it returns the first bytes of the output.
    async fn transfer(&self, plan: Plan, pass: Pass, size: Option<u64>) -> Result<(Converted, Vec<Write>)> {
        let &Self { executor, output, start, progress } = self;
        let guest_total = plan.virtual_size();
        let mut tally = Tally::new(&plan, start);
        let in_flight = self.jobs_in_flight(plan.largest_unit());
        let notices_of_disk = plan.notices();
        let is_first = matches!(pass, Pass::First);
        let output_writer = &OutputWriter::new(output, pass)?;
        if !is_first {
            output.target.open(guest_total.and(size)).await?;
        }
        progress(tally.done);
        tally.done.written += output_writer.begin().await?;
        let workload = executor.workload();
        let mut regions = Regions::new(output.layout.unit(), plan.end(), start);
        let jobs =
            try_unfold(plan, |mut plan| async move { Ok::<_, Error>(plan.next().await?.map(|job| (job, plan))) });
        let finished = planned_ahead(jobs, workload.files.clone(), workload.read_ahead)
            .map_ok(|mut job| (regions.next(&job), std::mem::take(&mut job.lost), job))
            .map_ok(|((range, region), mut lost, job)| async move {
                let (index, data, guest_ranges) = (job.index, job.data_len(), output_writer.guest_ranges_of(&job)?);
                let mut executed = executor.execute(job).await?;
                executed.lost.append(&mut lost);
                executed.written += output_writer.place(index, region, &guest_ranges, executed.output.as_ref()).await?;
                if let Some((bytes, _)) = executed.output.take() {
                    executor.take_back(bytes);
                }
                Ok((range, data, executed))
            })
            .try_buffer_unordered(in_flight);
        pin_mut!(finished);
        while let Some((range, data, executed)) = finished.try_next().await? {
            tally.add(range, data, executed);
            progress(tally.done);
            if guest_total.is_none() {
                // Fails as soon as the disk exceeds the format's limit.
                output.layout.resized(tally.done.guest_done)?;
            }
        }
        let mismatch = tally.mismatch()?;
        let virtual_size = tally.done.guest_done;
        let resized = if guest_total.is_none() { Some(output.layout.resized(virtual_size)?) } else { None };
        let layout = resized.as_deref().unwrap_or(output.layout);
        let FinishedOutput { written, output_size, first } = output_writer.finish(layout, virtual_size).await?;
        tally.done.written += written;
        let sectors = (tally.large_sectors && !sector_size::has_large(output.layout)).then(sector_size::notice);
        let notices = layout
            .notice()
            .into_iter()
            .chain(notices_of_disk(layout.disk_size() > virtual_size))
            .chain(sectors)
            .chain(mismatch)
            .collect();
        let lost = tally.lost.finish();
        let rewritten = Vec::new();
        Ok((Converted { progress: tally.done, virtual_size, rewritten, output_size, notices, lost }, first))
    }

    /// How many jobs to have in flight for a disk whose largest indivisible unit has `largest_unit` bytes.
    fn jobs_in_flight(&self, largest_unit: u64) -> usize {
        let workload = self.executor.workload();
        let largest = workload.job_bytes.max(self.output.weight(largest_unit));
        // Executors queue `ahead` jobs whatever their size: too many of the largest ones would not fit into the memory.
        let ahead = if self.output.is_ordered() || largest > workload.job_bytes { 0 } else { workload.ahead };
        workload.jobs_in_flight(largest) + ahead
    }
}

/// The sum of the finished jobs of a pass.
struct Tally {
    done: Progress,
    settled: Settled,
    lost: LostRanges,
    large_sectors: bool,
    /// See [`Plan::position`].
    position: Option<Rc<Cell<u64>>>,
    /// See [`Plan::sum`].
    sum: Option<(DiskSum, bool)>,
}

impl Tally {
    fn new(plan: &Plan, start: ResumePoint) -> Self {
        let ResumePoint { guest: GuestOffset(guest_done), written } = start;
        Self {
            done: Progress {
                guest_total: plan.reported_size(),
                guest_done,
                written,
                settled: start,
                ..Progress::default()
            },
            settled: Settled::new(start),
            lost: LostRanges::default(),
            large_sectors: false,
            position: plan.position(),
            sum: plan.sum(),
        }
    }

    /// Adds a job for `range`. `data`: the bytes of the range that the image stores as data.
    fn add<B>(&mut self, range: GuestRange, data: u64, executed: ExecutedJob<B>) {
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
    fn mismatch(&self) -> Result<Option<Notice>> {
        match &self.sum {
            Some((sum, is_salvaged)) => match sum.check() {
                Err(_) if *is_salvaged => Ok(Some(sum.stated.mismatch())),
                checked => checked.map(|()| None),
            },
            None => Ok(None),
        }
    }
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
        reshaped: Option<Rc<Reshaped>>,
    },
    InOrder(InOrderPlanner),
}

impl Plan {
    fn of_image(image: &Image, reshaped: Option<Rc<Reshaped>>, limits: JobLimits, start: ResumePoint) -> Result<Self> {
        let (mut extents, mut virtual_size, mut stored) = (image.extents()?, image.virtual_size(), image.stored());
        if let Some(reshaped) = &reshaped {
            extents = reshaped.extents(image, extents);
            virtual_size = reshaped.size;
            stored += reshaped.rewritten().iter().map(|range| range.len()).sum::<u64>();
        }
        let rest = GuestRange { start: start.guest, end: GuestOffset(virtual_size) };
        let mut planner = Planner::new(image, extents.continue_with(rest), limits);
        if let Some(reshaped) = &reshaped {
            planner = planner.reshaped(reshaped, image);
        }
        let checksum = match image.checksum().cloned() {
            // The earlier conversion has read the start of the disk, so the checksum of the whole disk cannot be computed.
            Some(Checksum::Of(stated)) if start.guest > GuestOffset(0) => Some(Checksum::Around(stated)),
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
            virtual_size,
            largest_unit: image.largest_unit(),
            stored,
            reshaped,
        })
    }

    /// The virtual size; `None` until the stream ends.
    fn virtual_size(&self) -> Option<u64> {
        match self {
            Self::Image { virtual_size, .. } => Some(*virtual_size),
            Self::InOrder(planner) => planner.size(),
        }
    }

    /// The size for reports: without the end that the output format adds.
    fn reported_size(&self) -> Option<u64> {
        match self {
            Self::Image { reshaped: Some(reshaped), .. } => Some(reshaped.virtual_size),
            Self::Image { virtual_size, .. } => Some(*virtual_size),
            Self::InOrder(planner) => planner.size(),
        }
    }

    /// Returns a function that returns where the jobs end, if that is known; see [`InOrderPlanner::end`].
    fn end(&self) -> Box<dyn Fn() -> Option<u64>> {
        match self {
            Self::Image { virtual_size, .. } => {
                let end = Some(*virtual_size);
                Box::new(move || end)
            }
            Self::InOrder(planner) => Box::new(planner.end()),
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

    /// Returns a function that makes the notices of the conversion, for an output that has made the disk larger or has not. It is called
    /// after the last job.
    fn notices(&self) -> Box<dyn Fn(bool) -> Vec<Notice>> {
        match self {
            Self::Image { planner, stored, checksum, .. } => {
                let (count, stored) = (planner.count(), *stored);
                let unchecked = match checksum {
                    Some(Checksum::Around(stated)) => Some(stated.unchecked()),
                    _ => None,
                };
                Box::new(move |_| count.get().notices(stored).into_iter().chain(unchecked.clone()).collect())
            }
            Self::InOrder(planner) => Box::new(planner.notices()),
        }
    }

    /// The sum that compares the disk with its stated checksum, if there is one, and whether the image is salvaged.
    fn sum(&self) -> Option<(DiskSum, bool)> {
        match self {
            Self::Image { checksum: Some(Checksum::Of(stated)), salvage, reshaped, .. } => {
                Some((DiskSum::new(stated.clone(), reshaped.clone()), *salvage))
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

/// Divides the disk among jobs, in the order in which they are planned.
struct Regions {
    unit: u64,
    /// Where the last job ends, if that is known.
    end: Box<dyn Fn() -> Option<u64>>,
    /// Ends of the last job's guest range and region.
    planned: GuestOffset,
    placed: GuestOffset,
}

impl Regions {
    /// If the size is unknown, all jobs but the last have whole units.
    fn new(unit: u64, end: Box<dyn Fn() -> Option<u64>>, ResumePoint { guest, .. }: ResumePoint) -> Self {
        let unit = if end().is_some() { unit } else { 1 };
        Self { unit, end, planned: guest, placed: guest }
    }

    /// Returns the guest range that `job` accounts for, and its region: the range whose data and holes all belong to
    /// the job. The region ends at a unit boundary, since another job may have data in the next unit.
    fn next(&mut self, job: &Job) -> (GuestRange, GuestRange) {
        let range = GuestRange { start: self.planned, end: self.planned + job.span };
        let is_last = (self.end)() == Some(range.end.0);
        let whole = if is_last { range.end } else { range.end.align_down(self.unit) };
        let end = whole.max(job.guest_ranges.last().map_or(GuestOffset(0), GuestRun::end)).max(self.placed);
        let region = GuestRange { start: self.placed, end };
        (self.planned, self.placed) = (range.end, end);
        (range, region)
    }
}
