//! The pipeline: keeps several jobs in flight, so that reading, decoding and writing overlap.

use super::digest::{Digester, DiskDigest, runs_of};
use super::disk_source::DiskSource;
use super::executor::{ExecutedJob, Executor};
use super::output::{FinishedOutput, Output, OutputWriter, Pass};
use super::progress::{Cancel, Progress, ResumePoint};
use super::sector_size;
use super::sums::{Summing, Sums};
use super::tally::{Regions, Tally};
use super::workload::planned_ahead;
use crate::disk::info::Notice;
use crate::disk::losses::Losses;
use crate::error::{Error, ErrorKind, Result};
use crate::io::target::{Discarding, OutputBytes};
use crate::modules::prepare;
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::manifest::Manifest;
use crate::output::{Layout, Options, Stamp, Write, by_name};
use futures_util::FutureExt;
use futures_util::future::{try_join, try_join_all};
use futures_util::pin_mut;
use futures_util::stream::{TryStreamExt, try_unfold};
use serde::Serialize;
use std::rc::Rc;

/// The result of a conversion of a disk, or of all disks of a machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConvertedDisks {
    /// The final progress, of all disks.
    pub progress: Progress,
    /// The size of the output, in bytes.
    pub output_size: u64,
    /// The results for the disks, in their order.
    pub disks: Vec<ConvertedDisk>,
}

/// The result for one disk of a conversion.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConvertedDisk {
    /// The size of the disk that the guest sees, in bytes.
    pub virtual_size: u64,
    /// Its size in the output, which the format may have rounded up.
    pub disk_size: u64,
    /// The ranges of the disk that have other bytes than in the image.
    pub rewritten: Vec<GuestRange>,
    /// Notices on the result.
    pub notices: Vec<Notice>,
    /// In a salvage: the lost ranges.
    #[serde(flatten)]
    pub lost: Losses,
    /// The guest sums; empty unless they are wanted.
    #[serde(skip)]
    pub sums: Sums,
    /// See [`Output::digest`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<DiskDigest>,
}

/// Computes the guest sums of a disk, and writes nothing. Fails as [`convert_disks`] does.
pub async fn sums_of<E: Executor>(
    disk: DiskSource<'_, E>,
    seed: u64,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<ConvertedDisk> {
    let raw = by_name("raw")?;
    let options = Options::new(raw, &[])?;
    let layout = match disk.content.virtual_size() {
        Some(size) => (raw.layout)(size, &options)?,
        None => raw.layout_in_order(&options)?,
    };
    let summing = Some(Summing { seed, discards: true });
    let output = Output { summing, ..Output::new(&*layout, Stamp::default(), &Discarding) };
    let mut done = convert_disks(&[disk], &output, ResumePoint::default(), progress, cancel).await?;
    Ok(done.disks.remove(0))
}

/// Converts `disks` into one output, one after the other, and reports progress after each job. A cancel takes effect at once. After a
/// failure or a cancel the target is aborted.
///
/// If there are several disks, the layout of `output` must be for all of them ([`Layout::with_disks`]), and their sizes known. For a
/// streamed disk whose size is not stated, the layout must come from
/// [`OutputFormat::layout_in_order`](crate::output::OutputFormat::layout_in_order).
///
/// A single image resumes an interrupted conversion of the same image to the same output: `start` is the last [`Progress::settled`] of the
/// earlier conversion, and everything before it must be in the output. The output must then be plain, and its target must take writes in
/// any order.
///
/// Fails with `missing-file` or `password` if a file or key is missing, with `cancelled`, as reading, decoding and writing do, and with
/// the code `needs-spool` if an image is read in place and its disk is stored in another order than it has.
pub async fn convert_disks<E: Executor>(
    disks: &[DiskSource<'_, E>],
    output: &Output<'_, E::Bytes>,
    start: ResumePoint,
    progress: &dyn Fn(Progress),
    cancel: &Cancel,
) -> Result<ConvertedDisks> {
    // A unit is written by one job only. The last one of the disk may be short.
    let guest = match disks[0].content.end().map(GuestOffset) {
        Some(end) if start.guest >= end => end,
        _ => start.guest.align_down(output.layout.unit()),
    };
    Conversion { disks, output, start: ResumePoint { guest, ..start }, progress }.run(cancel).await
}

async fn check_manifest(manifest: Option<Rc<Manifest>>) -> Result<Vec<Notice>> {
    match manifest {
        Some(manifest) => manifest.check().await,
        None => Ok(Vec::new()),
    }
}

/// One conversion: its disks, its output, the guest offset at which it starts, and the listener to its progress.
struct Conversion<'a, E: Executor> {
    disks: &'a [DiskSource<'a, E>],
    output: &'a Output<'a, E::Bytes>,
    start: ResumePoint,
    progress: &'a dyn Fn(Progress),
}

impl<E: Executor> Conversion<'_, E> {
    /// Converts the disks. The manifests around them are checked concurrently; the target is finished only after both.
    async fn run(&self, cancel: &Cancel) -> Result<ConvertedDisks> {
        let _limited: Vec<_> = self.disks.iter().filter_map(|disk| disk.content.limited()).collect();
        let checks = try_join_all(self.disks.iter().map(|disk| check_manifest(disk.manifest())));
        let conversion = async {
            let before = self.sums_before_start().await?;
            let (mut done, notices) = try_join(self.passes(), checks).await?;
            done.disks[0].sums.join(before)?;
            for (disk, notices) in done.disks.iter_mut().zip(notices) {
                disk.notices.extend(notices);
            }
            self.output.target.finish().await?;
            Ok(done)
        };
        let result = cancel.or(conversion).await;
        if result.is_err() {
            self.output.target.abort().await;
        }
        result
    }

    /// The guest sums of the part of the disk that an earlier conversion has written, if they are wanted: it is read again.
    async fn sums_before_start(&self) -> Result<Sums> {
        let &Self { disks, output, start, progress } = self;
        let Some(Summing { seed, .. }) = output.summing.filter(|_| start.guest > GuestOffset(0)) else {
            return Ok(Sums::default());
        };
        let part = disks[0].clone().within(&[GuestRange { start: GuestOffset(0), end: start.guest }]);
        let measuring = |done: Progress| progress(Progress { measuring: true, finalizing: false, ..done });
        // The sums are a conversion, too.
        let sums = sums_of(part, seed, &measuring, &Cancel::default()).boxed_local().await?;
        Ok(sums.sums)
    }

    /// Writes the whole output, after a first pass over the disks if the output needs it.
    async fn passes(&self) -> Result<ConvertedDisks> {
        if self.output.layout.digests() || self.output.digest.is_some() {
            prepare(&decant_crypt::MODULE).await?;
        }
        let (mut pass, mut size) = (Pass::Only, self.output.layout.output_size());
        if self.output.needs_start() && self.output.layout.start_is_known() {
            pass = Pass::Second(self.output.known_start().await?);
        } else if self.output.needs_start() {
            self.output.check_two_passes()?;
            let measuring = |done: Progress| (self.progress)(Progress { measuring: true, ..done });
            let first = Conversion { progress: &measuring, ..*self };
            let (done, first) = first.transfer(Pass::First, None).await?;
            (pass, size) = (Pass::Second(first), Some(done.output_size));
        }
        let (mut done, _) = self.transfer(pass, size).await?;
        done.progress = Progress { finalizing: true, latest: GuestRange::default(), ..done.progress };
        (self.progress)(done.progress);
        Ok(done)
    }

    /// Runs the jobs of all disks and finishes the output, but not the target. `size` is that of the output in bytes, if it is known. A
    /// first pass does not touch the target; it returns the bytes that the output has last.
    async fn transfer(&self, pass: Pass, size: Option<u64>) -> Result<(ConvertedDisks, Vec<Write>)> {
        let &Self { disks: sources, output, start, progress } = self;
        let guest_total: Option<u64> = sources.iter().map(|source| source.content.virtual_size()).sum();
        let is_first = matches!(pass, Pass::First);
        // A first pass finds only what the output has last.
        let summing = output.summing.filter(|_| !is_first);
        let writer = &OutputWriter::new(output, pass)?;
        if !is_first {
            output.target.open(guest_total.and(size)).await?;
        }
        let written = writer.begin().await?;
        let mut before = Progress { guest_total, written, ..Progress::default() };
        let (mut disks, mut resized) = (Vec::new(), None);
        for (number, source) in sources.iter().enumerate() {
            let transfer = DiskTransfer { source, output, writer, start, number, is_first, before, progress, summing };
            let done = transfer.run().await.map_err(|error| {
                let error = source.content.explain(error);
                let is_of_output = matches!(error.kind, ErrorKind::Target | ErrorKind::Internal | ErrorKind::Cancelled);
                let names_disk = !is_of_output && sources.len() > 1;
                if names_disk { error.field("diskNumber", number as u64 + 1) } else { error }
            })?;
            before = done.progress;
            disks.push(done.disk);
            resized = done.resized;
        }
        let FinishedOutput { written, output_size, first } =
            writer.finish(resized.as_deref().unwrap_or(output.layout)).await?;
        before.written += written;
        Ok((ConvertedDisks { progress: before, output_size, disks }, first))
    }
}

/// The transfer of one disk to the output.
struct DiskTransfer<'a, E: Executor> {
    source: &'a DiskSource<'a, E>,
    output: &'a Output<'a, E::Bytes>,
    writer: &'a OutputWriter<'a, E::Bytes>,
    start: ResumePoint,
    number: usize,
    /// Whether this is a first pass, which writes nothing.
    is_first: bool,
    /// The progress before this disk.
    before: Progress,
    progress: &'a dyn Fn(Progress),
    summing: Option<Summing>,
}

/// The result of [`DiskTransfer::run`].
struct TransferredDisk {
    progress: Progress,
    disk: ConvertedDisk,
    /// The layout for the size of the disk, if it was unknown.
    resized: Option<Box<dyn Layout>>,
}

impl<E: Executor> DiskTransfer<'_, E> {
    /// Runs all jobs of the disk.
    async fn run(&self) -> Result<TransferredDisk> {
        let &Self { source, output, writer, start, number, is_first, ref before, progress, summing } = self;
        let DiskSource { content, executor, .. } = source;
        let workload = executor.workload();
        let plan = source.plan(output.limits(workload.job_bytes), start)?;
        let guest_total = plan.virtual_size();
        let mut tally = Tally::new(&plan, start);
        let in_flight = self.jobs_in_flight(plan.largest_unit());
        let notices_of_disk = plan.notices();
        progress(tally.done.after(before));
        let digester = match output.digest {
            Some(digest) if !is_first => {
                Some(Digester::new(digest, content.size_of_image(), content.originals().await?)?)
            }
            _ => None,
        };
        let digester = &digester;
        let mut regions = Regions::new(output.layout.unit(), plan.end(), start);
        let jobs =
            try_unfold(plan, |mut plan| async move { Ok::<_, Error>(plan.next().await?.map(|job| (job, plan))) });
        let finished = planned_ahead(jobs, workload.files.clone(), workload.read_ahead)
            .map_ok(|mut job| {
                job.sums = summing;
                (regions.next(&job), std::mem::take(&mut job.lost), job)
            })
            .map_ok(|((range, region), mut lost, job)| async move {
                let (index, data, guest_ranges) = (job.index, job.data_len(), writer.guest_ranges_of(&job)?);
                let mut executed = executor.execute(job).await?;
                executed.lost.append(&mut lost);
                executed.written += writer.place(index, region, &guest_ranges, executed.output.as_ref()).await?;
                if let Some(digester) = digester {
                    add_to(digester, index, region, &executed).await?;
                }
                let digested = executed.digested.take().map(|(bytes, _)| bytes);
                let written = executed.output.take().map(|(bytes, _)| bytes);
                digested.into_iter().chain(written).for_each(|bytes| executor.take_back(bytes));
                Ok((range, data, executed))
            })
            .try_buffer_unordered(in_flight);
        pin_mut!(finished);
        while let Some((range, data, mut executed)) = finished.try_next().await? {
            tally.sums.add(std::mem::take(&mut executed.sums).into_iter())?;
            tally.add(range, data, executed);
            progress(tally.done.after(before));
            if guest_total.is_none() {
                // Fails as soon as the disk exceeds the format's limit.
                output.layout.resized(tally.done.guest_done)?;
            }
        }
        let mismatch = tally.mismatch()?;
        let size = tally.done.guest_done;
        let resized = if guest_total.is_none() { Some(output.layout.resized(size)?) } else { None };
        let layout = resized.as_deref().or_else(|| output.layout.disk(number)).unwrap_or(output.layout);
        tally.done.written += writer.end_disk(layout, size).await?;
        let is_unstated = tally.large_sectors && !sector_size::has_large(output.layout) && !content.states_sectors();
        let sectors = is_unstated.then(sector_size::notice);
        let notices_of_disk = notices_of_disk(layout.disk_size() > size);
        let disk = ConvertedDisk {
            virtual_size: content.virtual_size().unwrap_or(size),
            disk_size: layout.disk_size(),
            rewritten: content.rewritten(),
            notices: layout.notice().into_iter().chain(notices_of_disk).chain(sectors).chain(mismatch).collect(),
            lost: tally.lost.finish(),
            sums: tally.sums,
            digest: digester.as_ref().map(Digester::end).transpose()?,
        };
        Ok(TransferredDisk { progress: tally.done.after(before), disk, resized })
    }

    /// How many jobs to have in flight for a disk whose largest indivisible unit has `largest_unit` bytes.
    fn jobs_in_flight(&self, largest_unit: u64) -> usize {
        let workload = self.source.executor.workload();
        let largest = workload.job_bytes.max(self.output.weight(largest_unit));
        // Executors queue `ahead` jobs whatever their size: too many of the largest ones would not fit into the memory.
        let ahead = if self.output.is_ordered() || largest > workload.job_bytes { 0 } else { workload.ahead };
        workload.jobs_in_flight(largest) + ahead
    }
}

/// Adds the data of a job to the digest of its disk.
async fn add_to<B: OutputBytes>(
    digester: &Digester<'_, B>,
    index: u64,
    region: GuestRange,
    executed: &ExecutedJob<B>,
) -> Result<()> {
    let runs;
    let data = match (&executed.digested, &executed.output) {
        (Some((bytes, runs)), _) => Some((bytes, &runs[..])),
        (None, Some((bytes, placement))) => {
            runs = runs_of(placement);
            Some((bytes, &runs[..]))
        }
        (None, None) => None,
    };
    digester.add(index, region, data).await
}
