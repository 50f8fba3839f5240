//! The disks that a conversion reads, and the plans for their jobs.

use super::gpt::Patch;
use super::in_order::{InOrder, InOrderPlanner};
use super::job::Job;
use super::plan::{JobLimits, Planner};
use super::progress::ResumePoint;
use super::reshape::Reshaped;
use super::sum::DiskSum;
use super::within::{whole_blocks, within};
use crate::container::block_source::{BlockSource, LimitedPasses};
use crate::disk::info::{Notice, SECTOR_SIZE};
use crate::error::{Error, Result};
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::Checksum;
use crate::open::image::Image;
use crate::open::manifest::Manifest;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A disk to convert, and the executor of its jobs.
pub struct DiskSource<'a, E> {
    pub(super) content: Content<'a>,
    pub(super) executor: &'a E,
    /// The ranges that are read, if not all: the rest of the disk counts as zeros.
    pub(super) ranges: Option<Rc<[GuestRange]>>,
}

// Not derived, since `E` need not be cloned.
impl<E> Clone for DiskSource<'_, E> {
    fn clone(&self) -> Self {
        Self { content: self.content.clone(), executor: self.executor, ranges: self.ranges.clone() }
    }
}

impl<'a, E> DiskSource<'a, E> {
    /// The disk of `image`.
    pub fn image(image: &'a Image, executor: &'a E) -> Self {
        Self { content: Content::Image(image, None), executor, ranges: None }
    }

    /// The disk of `image`, changed to `reshaped`. `executor` must read from [`Reshaped::files`].
    pub fn reshaped(image: &'a Image, reshaped: Rc<Reshaped>, executor: &'a E) -> Self {
        Self { content: Content::Image(image, Some(reshaped)), executor, ranges: None }
    }

    /// The streamed `disk`. `executor` must read from [`InOrder::files`].
    pub fn in_order(disk: &'a InOrder<'a>, executor: &'a E) -> Self {
        Self { content: Content::InOrder(disk), executor, ranges: None }
    }

    /// Reads only `ranges`, ascending and disjoint, in whole blocks: the rest of the disk counts as zeros. A streamed disk is read
    /// whole.
    #[must_use]
    pub fn within(mut self, ranges: &[GuestRange]) -> Self {
        self.ranges = Some(whole_blocks(ranges));
        self
    }

    /// The manifest to check, unless only a part of the disk is read.
    pub(super) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.content.manifest().filter(|_| self.ranges.is_none())
    }

    pub(super) fn plan(&self, limits: JobLimits, start: ResumePoint) -> Result<Plan> {
        match &self.content {
            Content::Image(image, reshaped) => {
                Plan::of_image(image, reshaped.clone(), self.ranges.clone(), limits, start)
            }
            Content::InOrder(disk) => Ok(Plan::InOrder(InOrderPlanner::new(disk, limits)?)),
        }
    }
}

/// The source of a disk: an opened image, perhaps changed, or a stream.
#[derive(Clone)]
pub(super) enum Content<'a> {
    Image(&'a Image, Option<Rc<Reshaped>>),
    InOrder(&'a InOrder<'a>),
}

impl Content<'_> {
    /// The virtual size before the output format rounds it up, if it is known before the disk is read.
    pub(super) fn virtual_size(&self) -> Option<u64> {
        match self {
            Self::Image(_, Some(reshaped)) => Some(reshaped.virtual_size),
            Self::Image(image, None) => Some(image.virtual_size()),
            Self::InOrder(disk) => disk.virtual_size().or(disk.size()),
        }
    }

    /// Where the jobs of an image end. `None` for a streamed disk.
    pub(super) fn end(&self) -> Option<u64> {
        match self {
            Self::Image(_, Some(reshaped)) => Some(reshaped.size),
            Self::Image(image, None) => Some(image.virtual_size()),
            Self::InOrder(_) => None,
        }
    }

    pub(super) fn manifest(&self) -> Option<Rc<Manifest>> {
        match self {
            Self::Image(image, _) => image.manifest(),
            Self::InOrder(disk) => disk.manifest(),
        }
    }

    pub(super) fn limited(&self) -> Option<LimitedPasses> {
        match self {
            Self::Image(image, _) => image.blocks().map(BlockSource::limited),
            Self::InOrder(_) => None,
        }
    }

    /// Whether [`Image::info`] has a notice about the size of sectors.
    pub(super) fn states_sectors(&self) -> bool {
        match self {
            Self::Image(image, _) => image.info().safety.iter().any(|notice| notice.code == SECTOR_SIZE),
            Self::InOrder(_) => false,
        }
    }

    /// The ranges of the disk that have other bytes than in the image. Known after the last job.
    pub(super) fn rewritten(&self) -> Vec<GuestRange> {
        match self {
            Self::Image(_, reshaped) => reshaped.as_ref().map(|reshaped| reshaped.rewritten()).unwrap_or_default(),
            Self::InOrder(disk) => disk.rewritten(),
        }
    }

    /// The bytes that the image has in rewritten ranges; those of a streamed disk come with its jobs. Fails as
    /// [`read`](super::read) does.
    pub(super) async fn originals(&self) -> Result<Rc<RefCell<Vec<Patch>>>> {
        Ok(match self {
            Self::Image(image, Some(reshaped)) => Rc::new(RefCell::new(reshaped.originals(image).await?)),
            Self::Image(_, None) => Rc::default(),
            Self::InOrder(disk) => disk.originals(),
        })
    }

    /// Returns a function that returns the size of the image's disk in bytes; that of a streamed disk is known once its end was read.
    pub(super) fn size_of_image(&self) -> Box<dyn Fn() -> Option<u64>> {
        match self {
            Self::Image(image, _) => {
                let size = Some(image.virtual_size());
                Box::new(move || size)
            }
            Self::InOrder(disk) => Box::new(disk.size_of_stream()),
        }
    }

    pub(super) fn explain(&self, error: Error) -> Error {
        match self {
            Self::Image(image, _) => image.explain(error),
            Self::InOrder(disk) => disk.explain(error),
        }
    }
}

/// The source of a conversion's jobs.
pub(super) enum Plan {
    Image {
        planner: Planner,
        virtual_size: u64,
        /// See [`Image::largest_unit`].
        largest_unit: u64,
        /// The size of the image's own files, in bytes.
        stored: u64,
        checksum: Option<Checksum>,
        /// The notices about other files that are not compared with their checksums.
        unchecked: Vec<Notice>,
        salvage: bool,
        reshaped: Option<Rc<Reshaped>>,
    },
    InOrder(InOrderPlanner),
}

impl Plan {
    fn of_image(
        image: &Image,
        reshaped: Option<Rc<Reshaped>>,
        ranges: Option<Rc<[GuestRange]>>,
        limits: JobLimits,
        start: ResumePoint,
    ) -> Result<Self> {
        let (mut extents, mut virtual_size, mut stored) = (image.extents()?, image.virtual_size(), image.stored());
        if let Some(reshaped) = &reshaped {
            extents = reshaped.extents(image, extents);
            virtual_size = reshaped.size;
            stored += reshaped.rewritten().iter().map(|range| range.len()).sum::<u64>();
        }
        let is_whole = ranges.is_none() && start.guest == GuestOffset(0);
        if let Some(ranges) = ranges {
            extents = within(extents, ranges, virtual_size);
        }
        let rest = GuestRange { start: start.guest, end: GuestOffset(virtual_size) };
        let mut planner = Planner::new(image, extents.continue_with(rest), limits);
        if let Some(reshaped) = &reshaped {
            planner = planner.reshaped(reshaped, image);
        }
        let checksum = match image.checksum().cloned() {
            // Not all of the disk is read, so the checksum of the whole disk cannot be computed.
            Some(Checksum::Of(stated)) if !is_whole => Some(Checksum::Around(stated)),
            checksum => checksum,
        };
        let planner = match &checksum {
            Some(Checksum::Of(stated)) => planner.summing(stated.size()),
            _ => planner,
        };
        Ok(Self::Image {
            planner,
            checksum,
            unchecked: image.unchecked().collect(),
            salvage: image.is_salvaged(),
            virtual_size,
            largest_unit: image.largest_unit(),
            stored,
            reshaped,
        })
    }

    /// The virtual size; `None` until the stream ends.
    pub(super) fn virtual_size(&self) -> Option<u64> {
        match self {
            Self::Image { virtual_size, .. } => Some(*virtual_size),
            Self::InOrder(planner) => planner.size(),
        }
    }

    /// Returns a function that returns where the jobs end, if that is known; see [`InOrderPlanner::end`].
    pub(super) fn end(&self) -> Box<dyn Fn() -> Option<u64>> {
        match self {
            Self::Image { virtual_size, .. } => {
                let end = Some(*virtual_size);
                Box::new(move || end)
            }
            Self::InOrder(planner) => Box::new(planner.end()),
        }
    }

    pub(super) fn largest_unit(&self) -> u64 {
        match self {
            Self::Image { largest_unit, .. } => *largest_unit,
            Self::InOrder(_) => 0,
        }
    }

    /// The number of bytes read from the file; `None` if each job reports its own reads.
    pub(super) fn position(&self) -> Option<Rc<Cell<u64>>> {
        match self {
            Self::Image { .. } => None,
            Self::InOrder(planner) => Some(planner.position()),
        }
    }

    /// Returns a function that makes the notices of the conversion, for an output that has made the disk larger or has not. It is called
    /// after the last job.
    pub(super) fn notices(&self) -> Box<dyn Fn(bool) -> Vec<Notice>> {
        match self {
            Self::Image { planner, stored, checksum, unchecked, reshaped, .. } => {
                let (count, stored) = (planner.count(), *stored);
                let mut unchecked = unchecked.clone();
                if let Some(Checksum::Around(stated)) = checksum {
                    unchecked.insert(0, stated.unchecked());
                }
                let changes = reshaped.as_ref().map(|reshaped| reshaped.notices.clone()).unwrap_or_default();
                Box::new(move |_| {
                    let found = count.get().notices(stored).into_iter();
                    found.chain(unchecked.clone()).chain(changes.clone()).collect()
                })
            }
            Self::InOrder(planner) => Box::new(planner.notices()),
        }
    }

    /// The sum that compares the disk with its stated checksum, if there is one, and whether the image is salvaged.
    pub(super) fn sum(&self) -> Option<(DiskSum, bool)> {
        match self {
            Self::Image { checksum: Some(Checksum::Of(stated)), salvage, reshaped, .. } => {
                Some((DiskSum::new(stated.clone(), reshaped.clone()), *salvage))
            }
            _ => None,
        }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Job>> {
        match self {
            Self::Image { planner, .. } => planner.next().await,
            Self::InOrder(planner) => planner.next().await,
        }
    }
}
