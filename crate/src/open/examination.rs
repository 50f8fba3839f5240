//! Examines the tables of an image before a conversion, for damage and for signs of a hand-made image.

use crate::disk::extent::{ExtentKind, Extents};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::io::read_budget::ReadBudget;
use crate::offsets::GuestRange;
use crate::open::image::Image;
use crate::open::safety::Count;
use serde::Serialize;

/// Maximum number of bytes that an examination reads unless it is deep.
pub const MOST: u64 = 1 << 20;
/// Memory for tables in such an examination, in bytes: the minimum for one step.
const TABLES: u64 = 64 << 10;
/// Number of windows into which the rest of the disk is divided for the pass from its end backwards.
const WINDOWS: u64 = 64;
/// Minimum length of a window, in bytes.
const LEAST_WINDOW: u64 = 1 << 20;

/// The result of an examination.
#[derive(Default, Serialize)]
pub struct Examination {
    /// Notices on the safety of the image.
    pub(crate) notices: Vec<Notice>,
    /// The first damage found; the image cannot be converted whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<Error>,
    /// In a salvage: the number of unreadable bytes of the disk.
    pub lost: u64,
    /// The number of bytes of the disk whose tables were read.
    pub checked: u64,
}

enum PassEnd {
    Whole,
    Damaged,
    /// The budget was spent.
    Short,
}

impl Examination {
    /// Reads the tables of `image`, all of them if `deep`. Otherwise opens the image again within a budget of [`MOST`]
    /// bytes, and reads tables from the start of the disk, then from its end backwards: the lost part of a truncated
    /// file is most often described there.
    ///
    /// Fails with `source`, or with `internal` if memory runs out.
    pub async fn of(image: &Image, deep: bool) -> Result<Self> {
        let mut examination = Self::default();
        let mut count = Count::default();
        if deep {
            examination.pass(image.known_extents(), &ReadBudget::unlimited(), 0, &mut count).await?;
        } else {
            let budget = ReadBudget::new(MOST);
            match image.reopen(&budget, TABLES).await {
                Ok(image) => examination.sample(&image, &budget, &mut count).await?,
                Err(_) if budget.is_spent() => {}
                Err(error) => return Err(error),
            }
        }
        examination.notices = count.notices(image.stored());
        Ok(examination)
    }

    async fn sample(&mut self, image: &Image, budget: &ReadBudget, count: &mut Count) -> Result<()> {
        let first = self.pass(image.known_extents(), budget, MOST / 2, count).await?;
        let (from, mut end) = (self.checked, image.virtual_size());
        if !matches!(first, PassEnd::Short) {
            return Ok(());
        }
        let window = (end - from).div_ceil(WINDOWS).max(LEAST_WINDOW);
        while end > from {
            let start = end.saturating_sub(window).max(from);
            let extents = image.known_extents().continue_with(GuestRange::from(start..end));
            if !matches!(self.pass(extents, budget, 0, count).await?, PassEnd::Whole) {
                break;
            }
            end = start;
        }
        Ok(())
    }

    /// Reads `extents` until at most `reserve` bytes of `budget` are left.
    async fn pass(
        &mut self,
        mut extents: Extents,
        budget: &ReadBudget,
        reserve: u64,
        count: &mut Count,
    ) -> Result<PassEnd> {
        use ErrorKind::{Corrupt, Limit, Unsupported};
        let mut batch = Vec::new();
        while budget.left() > reserve {
            batch.clear();
            match extents.next(&mut batch).await {
                Ok(true) => {}
                Ok(false) => return Ok(PassEnd::Whole),
                Err(_) if budget.is_spent() => return Ok(PassEnd::Short),
                Err(error) if matches!(error.kind, Corrupt | Limit | Unsupported) => {
                    self.damage = Some(error);
                    return Ok(PassEnd::Damaged);
                }
                Err(error) => return Err(error),
            }
            count.note_findings(&extents);
            for extent in &batch {
                self.checked += extent.len;
                if extent.doubt.is_some() || matches!(extent.kind, ExtentKind::Lost(_)) {
                    self.lost += extent.len;
                }
                // Clusters of the layers below are in other files than `stored` counts.
                if extent.layer == 0 {
                    count.add(extent);
                }
            }
        }
        Ok(PassEnd::Short)
    }
}
