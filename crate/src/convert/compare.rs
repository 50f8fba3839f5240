//! Compares two disks: finds the bytes in which they differ, whatever the formats of their images.
//!
//! The maps of both images come first: a range that neither has data for is not read. The rest is compared by guest sums, which jobs of
//! both images compute at the same time. Only where the sums of a MiB differ are its bytes read again, and compared. All of it is done in
//! windows of the disk, so that memory is bounded and the first difference is known early.

use super::executor::Executor;
use super::pipeline::{ConvertedDisk, sums_of};
use super::sums::SUMMED;
use super::{Cancel, DiskSource, Progress, read};
use crate::disk::extent::{Extent, ExtentKind, Extents};
use crate::disk::info::Notice;
use crate::disk::losses::Losses;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileId, zeroed};
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::image::Image;
use crate::output::BLOCK;
use futures_util::TryFutureExt;
use futures_util::future::try_join;
use serde::Serialize;
use std::cell::Cell;
use std::collections::VecDeque;

/// The bytes to compare in the first window, and in the largest one. Each window is larger than the one before.
const FIRST_WINDOW: u64 = 64 << 20;
const LARGEST_WINDOW: u64 = 64 << 30;
const GROWTH: u64 = 8;
/// The most ranges in a window.
const MOST_RANGES: usize = 1 << 16;
/// The bytes of each disk that are compared byte by byte at a time.
const CHUNK: u64 = 4 << 20;
/// The number of differing ranges after which they are reported.
const REPORTED: usize = 4096;

/// One of the two disks.
pub struct ComparedDisk<'a, E> {
    /// Its image.
    pub image: &'a Image,
    /// The executor of its jobs.
    pub executor: &'a E,
}

/// How two disks are compared.
#[derive(Clone, Debug, Default)]
pub struct Comparing {
    /// A random number, for the sums.
    pub seed: u64,
    /// Whether the allocation is compared, too.
    pub strict: bool,
    /// Whether the comparison ends at the first difference.
    pub first_only: bool,
    /// The files that both images have, by their numbers in the one and in the other.
    pub shared: Vec<(FileId, FileId)>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// The first byte that differs. The smaller disk counts as if zeros followed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The number of bytes that differ. Not all are counted if only the first one is wanted.
    pub bytes: u64,
    /// The number of ranges that these bytes form.
    pub ranges: u64,
    /// The first byte that only one of the disks has allocated, or that they store in another way. Only in a strict comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<u64>,
    /// The losses of each disk, if it is salvaged.
    pub lost: [Losses; 2],
    /// The notices of each disk, as those of a conversion.
    pub notices: [Vec<Notice>; 2],
}

impl Compared {
    /// Adds the losses and the notices of passes over the next window.
    fn add_reports_of(&mut self, passes: [ConvertedDisk; 2]) {
        for (number, ConvertedDisk { lost, notices, .. }) in passes.into_iter().enumerate() {
            self.lost[number].join(lost);
            let known = &mut self.notices[number];
            // Each window repeats the notices about the whole disk.
            for notice in notices {
                if !known.contains(&notice) {
                    known.push(notice);
                }
            }
        }
    }
}

/// Receives the reports of a comparison.
pub trait ComparisonEvents {
    /// `done` of the bytes of the larger disk are compared. `offset`: the first byte that differs, once it is known.
    fn progress(&self, done: u64, offset: Option<u64>);
    /// These ranges of bytes differ: ascending and disjoint.
    fn differ(&self, ranges: &[GuestRange]);
}

/// Compares the disks. Fails as [`Image::extents`] and a conversion of the disks do.
pub async fn compare<E: Executor>(
    disks: [ComparedDisk<'_, E>; 2],
    comparing: &Comparing,
    events: &dyn ComparisonEvents,
    cancel: &Cancel,
) -> Result<Compared> {
    let images = disks.each_ref().map(|disk| disk.image);
    let shared = images[0].layers_shared_with(images[1], &comparing.shared);
    let extents = [images[0].extents_above(shared)?, images[1].extents_above(shared)?];
    let mut plan = Lockstep::new(extents, images, shared > 0);
    let size = images[0].virtual_size().max(images[1].virtual_size());
    let mut found = Findings { compared: Compared::default(), open: None, ready: Vec::new(), events };
    if comparing.strict {
        found.compared.allocation = cancel.or(first_other_status(images)).await?;
    }
    let mut window = FIRST_WINDOW;
    loop {
        let ranges = cancel.or(plan.window(window)).await?;
        if ranges.is_empty() {
            break;
        }
        let start = ranges[0].start.0;
        // The progress of the slower one of the two passes counts.
        let done = [Cell::new(0), Cell::new(0)];
        let offset = found.compared.offset;
        let report = |number: usize, progress: Progress| {
            done[number].set(progress.guest_done);
            events.progress(done[0].get().min(done[1].get()).clamp(start, plan.position), offset);
        };
        let [one, other] = disks.each_ref().map(|disk| DiskSource::image(disk.image, disk.executor).within(&ranges));
        let (of_one, of_other) = (|progress| report(0, progress), |progress| report(1, progress));
        let passes = try_join(
            sums_of(one, comparing.seed, &of_one, cancel).map_err(|error| of_disk(0, error)),
            sums_of(other, comparing.seed, &of_other, cancel).map_err(|error| of_disk(1, error)),
        );
        let (one, other) = passes.await?;
        let differing = one.sums.differing(&other.sums).into_iter();
        found.compared.add_reports_of([one, other]);
        cancel.or(found.search(images, &ranges, differing, comparing.first_only)).await?;
        if comparing.first_only && found.compared.offset.is_some() {
            break;
        }
        window = (window * GROWTH).min(LARGEST_WINDOW);
    }
    found.finish();
    events.progress(size, found.compared.offset);
    Ok(found.compared)
}

/// Returns `error` with the number of the disk that it is about, from 1.
fn of_disk(number: usize, error: Error) -> Error {
    let is_of_disk = !matches!(error.kind, ErrorKind::Internal | ErrorKind::Cancelled);
    if is_of_disk { error.field("diskNumber", number as u64 + 1) } else { error }
}

/// The differences that were found.
struct Findings<'a> {
    compared: Compared,
    /// The last range, which the next chunk may continue.
    open: Option<GuestRange>,
    /// Ranges to report.
    ready: Vec<GuestRange>,
    events: &'a dyn ComparisonEvents,
}

impl Findings<'_> {
    /// Compares the bytes of `ranges` that are in the MiBs with these numbers, ascending. With `first_only`, up to the first difference.
    async fn search(
        &mut self,
        images: [&Image; 2],
        ranges: &[GuestRange],
        parts: impl Iterator<Item = u64>,
        first_only: bool,
    ) -> Result<()> {
        for chunk in chunks(ranges, parts) {
            let [one, other] =
                [0, 1].map(|number| read_padded(images[number], chunk).map_err(move |error| of_disk(number, error)));
            let (one, other) = try_join(one, other).await?;
            self.compare(chunk.start, &one, &other);
            if first_only && self.compared.offset.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Compares the bytes of both disks from `start` on.
    fn compare(&mut self, start: GuestOffset, one: &[u8], other: &[u8]) {
        /// Equal bytes are passed over in groups of this many.
        const GROUP: usize = 64;
        let groups = one.chunks(GROUP).zip(other.chunks(GROUP)).enumerate();
        for (number, (one, other)) in groups.filter(|(_, (one, other))| one != other) {
            let start = start + (number * GROUP) as u64;
            let mut at = 0;
            while let Some(first) = (at..one.len()).find(|&at| one[at] != other[at]) {
                at = (first..one.len()).find(|&at| one[at] == other[at]).unwrap_or(one.len());
                self.add(GuestRange { start: start + first as u64, end: start + at as u64 });
            }
        }
    }

    fn add(&mut self, range: GuestRange) {
        if self.compared.offset.is_none() {
            self.compared.offset = Some(range.start.0);
            self.events.progress(range.start.0, self.compared.offset);
        }
        self.compared.bytes += range.len();
        match &mut self.open {
            Some(open) if open.end == range.start => open.end = range.end,
            open => {
                let before = open.replace(range);
                self.compared.ranges += 1;
                self.ready.extend(before);
                if self.ready.len() >= REPORTED {
                    self.events.differ(&std::mem::take(&mut self.ready));
                }
            }
        }
    }

    /// Reports the last ranges.
    fn finish(&mut self) {
        self.ready.extend(self.open.take());
        if !self.ready.is_empty() {
            self.events.differ(&std::mem::take(&mut self.ready));
        }
    }
}

/// The parts of `ranges` in the MiBs with the numbers `parts`, in chunks of bounded size. All ascend.
fn chunks(ranges: &[GuestRange], parts: impl Iterator<Item = u64>) -> Vec<GuestRange> {
    let mut chunks: Vec<GuestRange> = Vec::new();
    let mut next = 0;
    for part in parts {
        let part = GuestRange::from(part * SUMMED..(part + 1) * SUMMED);
        next += ranges[next..].partition_point(|range| range.end <= part.start);
        for range in ranges[next..].iter().take_while(|range| range.start < part.end) {
            let within = GuestRange { start: range.start.max(part.start), end: range.end.min(part.end) };
            match chunks.last_mut() {
                Some(last) if last.end == within.start && within.end - last.start <= CHUNK => last.end = within.end,
                _ => chunks.push(within),
            }
        }
    }
    chunks
}

/// Reads `range` of the disk, with zeros after its end.
async fn read_padded(image: &Image, range: GuestRange) -> Result<Vec<u8>> {
    let end = range.end.min(GuestOffset(image.virtual_size()));
    if end <= range.start {
        return zeroed(range.len() as usize);
    }
    let mut bytes = read(image, GuestRange { end, ..range }).await?;
    bytes.resize(range.len() as usize, 0);
    Ok(bytes)
}

/// A pass over the extents of two disks at the same time.
struct Lockstep {
    passes: [Pass; 2],
    /// Where the next window begins.
    position: u64,
    /// The size of the larger disk.
    size: u64,
    /// Whether only the layers above shared ones are listed: what they leave out is the bytes of these.
    is_shared: bool,
}

/// A pass over one disk.
struct Pass {
    extents: Extents,
    listed: VecDeque<Extent>,
    batch: Vec<Extent>,
    size: u64,
    number: usize,
}

impl Pass {
    fn new(extents: Extents, size: u64, number: usize) -> Self {
        Self { extents, listed: VecDeque::new(), batch: Vec::new(), size, number }
    }

    /// The kind of the disk at `offset`, and where it may change. After the end of the disk are zeros.
    async fn at(&mut self, offset: u64) -> Result<(ExtentKind, u64)> {
        let after = (ExtentKind::Zero { host: None }, u64::MAX);
        if offset >= self.size {
            return Ok(after);
        }
        loop {
            while let Some(extent) = self.listed.front() {
                if extent.end().0 > offset {
                    return Ok((extent.kind, extent.end().0));
                }
                self.listed.pop_front();
            }
            let listed = self.extents.next(&mut self.batch).await;
            if !listed.map_err(|error| of_disk(self.number, error))? {
                return Ok(after);
            }
            self.listed.extend(self.batch.drain(..));
        }
    }
}

impl Lockstep {
    fn new(extents: [Extents; 2], images: [&Image; 2], is_shared: bool) -> Self {
        let sizes = images.map(Image::virtual_size);
        let [one, other] = extents;
        let passes = [Pass::new(one, sizes[0], 0), Pass::new(other, sizes[1], 1)];
        Self { passes, position: 0, size: sizes[0].max(sizes[1]), is_shared }
    }

    /// Whether both disks have the same bytes, as their maps show: nothing, or zeros.
    fn is_alike(&self, one: ExtentKind, other: ExtentKind) -> bool {
        use ExtentKind::{Unallocated, Zero};
        match (one, other) {
            (Unallocated { .. }, Unallocated { .. }) | (Zero { .. }, Zero { .. }) => true,
            (Unallocated { .. }, Zero { .. }) | (Zero { .. }, Unallocated { .. }) => !self.is_shared,
            _ => false,
        }
    }

    /// The next ranges to compare, in whole blocks: about `bytes` bytes of them. Empty at the end.
    async fn window(&mut self, bytes: u64) -> Result<Vec<GuestRange>> {
        let mut ranges: Vec<GuestRange> = Vec::new();
        let mut len = 0;
        while self.position < self.size && len < bytes && ranges.len() < MOST_RANGES {
            let (kind, end) = self.passes[0].at(self.position).await?;
            let (other, other_end) = self.passes[1].at(self.position).await?;
            let end = end.min(other_end).min(self.size);
            if self.is_alike(kind, other) {
                self.position = end;
                continue;
            }
            let end = end.min((self.position + bytes - len).next_multiple_of(SUMMED));
            let whole = GuestRange::from(self.position..end);
            let whole = GuestRange { start: whole.start.align_down(BLOCK), end: whole.end.align_up(BLOCK) };
            len += end - self.position;
            self.position = end;
            match ranges.last_mut() {
                Some(last) if last.end >= whole.start => last.end = last.end.max(whole.end),
                _ => ranges.push(whole),
            }
        }
        // The next window begins after the last block of this one, so that no block is compared twice.
        let end = ranges.last().map_or(0, |last| last.end.0);
        self.position = self.position.max(end);
        Ok(ranges)
    }
}

/// The first byte at which the disks, of one size, are allocated or stored in different ways, as `qemu-img compare -s` decides.
async fn first_other_status(images: [&Image; 2]) -> Result<Option<u64>> {
    let mut passes = Lockstep::new([images[0].extents()?, images[1].extents()?], images, false);
    while passes.position < passes.size {
        let (kind, end) = passes.passes[0].at(passes.position).await?;
        let (other, other_end) = passes.passes[1].at(passes.position).await?;
        if status_of(kind) != status_of(other) {
            return Ok(Some(passes.position));
        }
        passes.position = end.min(other_end);
    }
    Ok(None)
}

/// The flags of QEMU's block status: zero, allocated, compressed, with an offset in a file.
fn status_of(kind: ExtentKind) -> [bool; 4] {
    match kind {
        ExtentKind::Unallocated { host } => [true, false, false, host.is_some()],
        ExtentKind::Zero { host } => [true, true, false, host.is_some()],
        ExtentKind::Data { encrypted, .. } => [false, true, false, encrypted.is_none()],
        ExtentKind::Compressed { .. } => [false, true, true, false],
        ExtentKind::Lost(_) => [false; 4],
    }
}
