//! Extents: the source of each range of the guest disk, in a form common to all formats.

use crate::compress::Compression;
use crate::disk::host_ranges::Findings;
use crate::error::Result;
use crate::error::damage::Damage;
use crate::io::source::FileId;
use crate::offsets::{GuestOffset, GuestRange, HostOffset};
use futures_util::future::LocalBoxFuture;

/// A range of the guest disk with a single source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub start: GuestOffset,
    /// Length in bytes, never 0.
    pub len: u64,
    /// The layer that the extent is from: 0 is the image, 1 its backing file, and so on.
    pub(crate) layer: u16,
    /// The source of its bytes.
    pub kind: ExtentKind,
    /// Why its bytes may be wrong although they can be read. Only in a salvage, which reads the extent and lists it as lost.
    pub doubt: Option<Damage>,
}

/// The source of an extent's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentKind {
    /// Not allocated: the guest reads the layer below, or zeros if there is none.
    Unallocated {
        /// Space reserved for it in the file, if any: for example, the place of an unallocated subcluster in a cluster with data.
        host: Option<(FileId, HostOffset)>,
    },
    /// Marked as zeros.
    Zero {
        /// Space reserved for it in the file, if any. The bytes there are not read.
        host: Option<(FileId, HostOffset)>,
    },
    /// Bytes stored in a file.
    Data {
        /// Its file.
        file: FileId,
        /// The host offset of the bytes.
        host: HostOffset,
        /// The encryption of the bytes, if any.
        encrypted: Option<Encrypted>,
    },
    /// A part of a single compressed unit, such as a cluster.
    Compressed {
        /// Its file.
        file: FileId,
        /// Host offset of the compressed bytes.
        host: HostOffset,
        /// Upper bound on the length of the compressed bytes. The compressed stream may end earlier.
        host_len: u64,
        /// Length of the decompressed cluster, in bytes.
        cluster: u64,
        /// Offset of the extent in the decompressed cluster, in bytes.
        skip: u64,
        /// The compression.
        compression: Compression,
    },
    /// Unreadable. Only in a salvage.
    Lost(Damage),
}

/// The encryption of data: in sectors of 512 bytes, each with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encrypted {
    /// Index of the image's cipher. Ciphers are numbered from the top layer down.
    pub(crate) cipher: u16,
    /// Whether sectors are numbered by guest offset; otherwise by host offset.
    pub(crate) by_guest: bool,
}

impl Extent {
    /// The guest offset after the last byte.
    pub fn end(&self) -> GuestOffset {
        self.start + self.len
    }

    pub(crate) fn range(&self) -> GuestRange {
        GuestRange { start: self.start, end: self.end() }
    }

    /// Whether the guest may read anything but zeros here.
    pub fn has_data(&self) -> bool {
        matches!(self.kind, ExtentKind::Data { .. } | ExtentKind::Compressed { .. })
    }

    /// Splits the extent after its first `len` bytes. The second part is `None` if it would be empty.
    pub(crate) fn split(self, len: u64) -> (Self, Option<Self>) {
        if len >= self.len {
            return (self, None);
        }
        let moved = |host: HostOffset| HostOffset(host.0 + len);
        let mut kind = self.kind;
        match &mut kind {
            ExtentKind::Data { host, .. }
            | ExtentKind::Zero { host: Some((_, host)) }
            | ExtentKind::Unallocated { host: Some((_, host)) } => *host = moved(*host),
            ExtentKind::Compressed { skip, .. } => *skip += len,
            ExtentKind::Unallocated { host: None } | ExtentKind::Zero { host: None } | ExtentKind::Lost(_) => {}
        }
        (Self { len, ..self }, Some(Self { start: self.start + len, len: self.len - len, kind, ..self }))
    }

    /// Appends the extent to `batch`, or merges it with the last one if it continues that on the disk and in the file.
    pub(crate) fn push_to(self, batch: &mut Vec<Self>) {
        match batch.last_mut() {
            Some(last) if last.is_continued_by(&self) => last.len += self.len,
            _ => batch.push(self),
        }
    }

    /// Whether `next` would be the second part of a longer extent. Compressed extents are not merged.
    fn is_continued_by(&self, next: &Self) -> bool {
        let whole = Self { len: self.len + next.len, ..*self };
        !matches!(self.kind, ExtentKind::Compressed { .. }) && whole.split(self.len).1 == Some(*next)
    }
}

/// Lists the extents of a disk, range by range.
pub(crate) trait ExtentWalk {
    /// Appends extents from `range.start` on to `batch`, in guest order and without gaps: at least one, a bounded
    /// number, none past `range.end`. `range` must be within the disk and not empty, and the ranges of one walk must
    /// ascend.
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>>;

    /// The findings in the ranges listed so far.
    fn findings(&self) -> Findings {
        Findings::default()
    }
}

/// Checks the extents that a walk lists.
pub(crate) trait ExtentCheck {
    /// Checks the extents of `batch` from number `first` on, which the walk has listed for `range`, and may divide them.
    fn check(&mut self, range: GuestRange, batch: &mut Vec<Extent>, first: usize) -> Result<()>;

    /// The findings so far.
    fn findings(&self) -> Findings;
}

/// A walk, and the check of its extents.
pub(crate) struct CheckedWalk {
    pub(crate) walk: Box<dyn ExtentWalk>,
    pub(crate) check: Option<Box<dyn ExtentCheck>>,
}

impl CheckedWalk {
    /// Lists as [`ExtentWalk::list`], and checks the extents.
    pub(crate) async fn list(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let first = batch.len();
        self.walk.list(range, batch).await?;
        match &mut self.check {
            Some(check) => check.check(range, batch, first),
            None => Ok(()),
        }
    }

    /// The findings in the ranges listed so far.
    pub(crate) fn findings(&self) -> Findings {
        let found = self.walk.findings();
        self.check.as_ref().map_or(found, |check| found.and(check.findings()))
    }
}

/// A pass over the extents of a disk, in guest order and without gaps.
pub struct Extents {
    walk: CheckedWalk,
    /// The part of the disk not listed yet.
    remaining: GuestRange,
}

impl Extents {
    /// Starts a pass over the first `size` bytes of the disk.
    pub(crate) fn new(walk: CheckedWalk, size: u64) -> Self {
        Self { walk, remaining: GuestRange::from(0..size) }
    }

    /// The guest offset up to which extents were listed.
    pub(crate) fn position(&self) -> GuestOffset {
        self.remaining.start
    }

    /// See [`CheckedWalk::findings`].
    pub(crate) fn findings(&self) -> Findings {
        self.walk.findings()
    }

    /// The walk of the pass.
    pub(crate) fn into_walk(self) -> CheckedWalk {
        self.walk
    }

    /// Continues the pass with `range`, which must not begin before [`Extents::position`].
    pub(crate) fn continue_with(self, range: GuestRange) -> Self {
        Self { remaining: range, ..self }
    }

    /// Appends the next extents, a bounded number, to `batch`. Returns false if none are left.
    pub async fn next(&mut self, batch: &mut Vec<Extent>) -> Result<bool> {
        if self.remaining.is_empty() {
            return Ok(false);
        }
        self.walk.list(self.remaining, batch).await?;
        self.remaining.start = batch.last().map_or(self.remaining.end, Extent::end);
        Ok(true)
    }
}
