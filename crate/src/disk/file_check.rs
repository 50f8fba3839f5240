//! The check of an image's file: whether its structures agree with one another, and which space nothing uses.

use crate::disk::info::Notice;
use crate::error::Error;
use crate::error::damage::Damage;
use crate::error::fields::Fields;
use crate::offsets::{GuestOffset, HostOffset, MAX_SIZE};
use serde::Serialize;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

/// Maximum number of findings that are listed. All are counted.
pub(crate) const MOST_LISTED: usize = 1000;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Data is wrong, or further writes to the image would damage data.
    Corruption,
    /// Space in the file that nothing uses.
    Leak,
    /// A part could not be checked.
    Unchecked,
    /// A state of the image that is not a fault in its tables.
    State,
}

/// One finding, or several of the same kind at one place.
#[derive(Clone, Debug, Serialize)]
pub struct FileFinding {
    /// The severity.
    pub kind: FindingKind,
    /// How many findings this is.
    pub count: u64,
    /// The code for programs.
    pub code: Cow<'static, str>,
    /// Details, for programs.
    pub fields: Fields,
    /// The sentence to display, without a full stop.
    pub message: String,
}

/// The result of the check of one file. Clusters are blocks or grains in other formats.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCheck {
    /// The number of corruptions.
    pub corruptions: u64,
    /// The number of clusters of the file that nothing uses.
    pub leaks: u64,
    /// The number of parts that could not be checked.
    pub unchecked: u64,
    /// The number of clusters of the disk.
    pub total_clusters: u64,
    /// The number of clusters of the disk with data in the file.
    pub allocated_clusters: u64,
    /// The number of them that do not follow the previous one in the file.
    pub fragmented_clusters: u64,
    /// The number of them that are compressed.
    pub compressed_clusters: u64,
    /// The end of the last cluster in use, in bytes; 0 if the format does not need it.
    pub image_end: u64,
    /// Whether the format's own tables were checked. Otherwise the disk is stored without any.
    pub has_tables: bool,
    /// Whether space that nothing uses counts.
    pub counts_leaks: bool,
    /// The first findings.
    pub findings: Vec<FileFinding>,
}

impl FileCheck {
    /// Adds `count` findings of `kind` at one place.
    pub(crate) fn add(&mut self, kind: FindingKind, count: u64, Notice { code, fields, message }: Notice) {
        let total = match kind {
            FindingKind::Corruption => Some(&mut self.corruptions),
            FindingKind::Leak => Some(&mut self.leaks),
            FindingKind::Unchecked => Some(&mut self.unchecked),
            FindingKind::State => None,
        };
        if let Some(total) = total {
            *total = total.saturating_add(count).min(MAX_SIZE);
        }
        if kind == FindingKind::State || (count > 0 && self.findings.len() < MOST_LISTED) {
            self.findings.push(FileFinding { kind, count, code: code.into(), fields, message });
        }
    }

    /// The result of a check that failed with `error`.
    pub(crate) fn failed(error: &Error) -> Self {
        let (code, fields, message) = (error.code.clone(), error.fields.clone(), error.message());
        let finding = FileFinding { kind: FindingKind::Unchecked, count: 1, code, fields, message };
        Self { unchecked: 1, has_tables: true, findings: vec![finding], ..Self::default() }
    }

    /// Adds `count` corruptions at `offset` of the file.
    pub(crate) fn corrupt(&mut self, count: u64, code: &'static str, offset: HostOffset, what: &str) {
        self.add(FindingKind::Corruption, count, at(code, offset, what));
    }

    /// Adds `count` times `damage`, at `offset` of the file.
    pub(crate) fn damaged(&mut self, count: u64, damage: Damage, offset: HostOffset) {
        let notice = Notice::new(damage.code(), format!("At byte {} of the file: {}", offset.0, damage.reason()));
        self.add(FindingKind::Corruption, count, notice.field("offset", offset.0));
    }

    /// Adds `count` units of the disk from `start` on that are lost to `damage`.
    pub(crate) fn lost(&mut self, count: u64, damage: Damage, start: GuestOffset) {
        let notice = Notice::new(damage.code(), format!("At byte {} of the disk: {}", start.0, damage.reason()));
        self.add(FindingKind::Corruption, count, notice.field("guestOffset", start.0));
    }

    /// Adds `error`, which makes the image unreadable.
    pub(crate) fn unreadable(&mut self, error: &Error) {
        self.corruptions += 1;
        let (fields, message) = (error.fields.clone(), error.message());
        let code = UNREADABLE.into();
        self.findings.push(FileFinding { kind: FindingKind::Corruption, count: 1, code, fields, message });
    }

    /// Adds `units` leaked units of `unit` bytes at `offset` of the file.
    pub(crate) fn leak(&mut self, units: u64, unit: u64, offset: HostOffset) {
        let size = units.saturating_mul(unit);
        let notice = at(LEAK, offset, &format!("Nothing uses {size} bytes")).field("size", size);
        self.add(FindingKind::Leak, units, notice);
    }
}

/// The code of a fault that makes the image unreadable.
const UNREADABLE: &str = "check-unreadable";
/// The code of a leak.
const LEAK: &str = "check-leak";

/// Creates a notice about byte `offset` of the file. `what` begins its sentence.
pub(crate) fn at(code: &'static str, offset: HostOffset, what: &str) -> Notice {
    Notice::new(code, format!("{what} at byte {} of the file", offset.0)).field("offset", offset.0)
}

/// Gets the share of a check that is done, 0 to 1.
#[derive(Clone)]
pub struct CheckProgress {
    report: Rc<dyn Fn(f64)>,
    last: Rc<Cell<f64>>,
}

/// The least progress that is reported.
const STEP: f64 = 0.005;

impl CheckProgress {
    /// Calls `report` with the share.
    pub fn new(report: impl Fn(f64) + 'static) -> Self {
        Self { report: Rc::new(report), last: Rc::new(Cell::new(0.0)) }
    }

    /// Reports that `done` of `all` steps are done, from the share `from` to the share `to` of the check.
    pub(crate) fn reached(&self, (from, to): (f64, f64), done: u64, all: u64) {
        let share = from + (to - from) * if all == 0 { 1.0 } else { done.min(all) as f64 / all as f64 };
        if share >= self.last.get() + STEP {
            self.last.set(share);
            (self.report)(share);
        }
    }
}
