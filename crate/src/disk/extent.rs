//! Extents: which bytes of which file make up each range of the guest's disk. Every format lists them in this form.

use super::damage::Damage;
use crate::compress::{Compression, Framing};
use crate::error::Result;
use crate::io::source::FileId;
use crate::offsets::{GuestOffset, GuestRange, HostOffset};
use futures_util::future::LocalBoxFuture;

/// A range of the guest's disk whose bytes come from one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub start: GuestOffset,
    /// Length in bytes, never 0.
    pub len: u64,
    /// The layer that describes it: 0 is the image, 1 its backing file, and so on.
    pub layer: u16,
    /// The bytes that the guest reads there.
    pub kind: ExtentKind,
}

/// The bytes that the guest reads in an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentKind {
    /// Nothing is recorded: the bytes of the layer below, or zeros.
    Unallocated {
        /// Where the file has space for it, if it has: a subcluster beside others with data.
        host: Option<(FileId, HostOffset)>,
    },
    /// Recorded as zeros.
    Zero {
        /// Where the file has space for it, if it has. The guest does not read the bytes there.
        host: Option<(FileId, HostOffset)>,
    },
    /// The bytes of a file from `host` on.
    Data {
        /// Which file.
        file: FileId,
        /// Where the bytes lie.
        host: HostOffset,
        /// How they are encrypted, if they are.
        encrypted: Option<Encrypted>,
    },
    /// A part of one compressed cluster or grain.
    Compressed {
        /// Which file.
        file: FileId,
        /// Where the compressed bytes lie.
        host: HostOffset,
        /// Upper bound on the length of the compressed bytes. The stream may end earlier.
        host_len: u64,
        /// Length of the decompressed cluster, in bytes.
        cluster: u64,
        /// Offset of the extent in the cluster, in bytes.
        skip: u64,
        /// How they are compressed.
        compression: Compression,
        /// What surrounds the compressed data.
        framing: Framing,
    },
    /// In a salvage only: unreadable.
    Lost(Damage),
}

/// How data is encrypted: in sectors of 512 bytes, each with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encrypted {
    /// Which of the ciphers of the image. They are numbered from the top layer down.
    pub cipher: u16,
    /// Whether sectors are numbered by guest offset; otherwise by host offset.
    pub by_guest: bool,
}

impl Extent {
    /// The guest offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.start.0 + self.len
    }

    /// The guest range of the extent.
    pub fn range(&self) -> GuestRange {
        GuestRange { start: self.start.0, end: self.end() }
    }

    /// Whether the guest may read something other than zeros.
    pub fn has_data(&self) -> bool {
        matches!(self.kind, ExtentKind::Data { .. } | ExtentKind::Compressed { .. })
    }

    /// Divides the extent behind its first `len` bytes. The second part is `None` if nothing is left.
    pub fn split(self, len: u64) -> (Self, Option<Self>) {
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
        (Self { len, ..self }, Some(Self { start: GuestOffset(self.start.0 + len), len: self.len - len, kind, ..self }))
    }

    /// Appends `next` and returns true, if both together are one extent: `next` continues this one on the disk and in the
    /// file.
    pub fn try_extend(&mut self, next: &Extent) -> bool {
        if self.end() != next.start.0 || self.layer != next.layer || !self.continues(next) {
            return false;
        }
        self.len += next.len;
        true
    }

    fn continues(&self, next: &Extent) -> bool {
        use ExtentKind::{Data, Lost, Unallocated, Zero};
        let follows = |a: HostOffset, b: HostOffset| a.0.checked_add(self.len) == Some(b.0);
        match (self.kind, next.kind) {
            (Unallocated { host: None }, Unallocated { host: None }) | (Zero { host: None }, Zero { host: None }) => {
                true
            }
            (Unallocated { host: Some((file, a)) }, Unallocated { host: Some((other, b)) })
            | (Zero { host: Some((file, a)) }, Zero { host: Some((other, b)) }) => file == other && follows(a, b),
            (Data { host: a, file, encrypted }, Data { host: b, file: other, encrypted: too }) => {
                file == other && encrypted == too && follows(a, b)
            }
            (Lost(a), Lost(b)) => a == b,
            _ => false,
        }
    }
}

/// Lists the extents of a disk.
pub trait ExtentWalk {
    /// Appends the extents from `range.start` on to `batch`, in guest order and without gaps: at least one, a bounded
    /// number, none past `range.end`. The range is on the disk and not empty. The ranges of one walk ascend.
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>>;
}

/// A pass over all extents of a disk, in guest order, without gaps.
pub struct Extents {
    walk: Box<dyn ExtentWalk>,
    /// The part of the disk that was not listed yet.
    remaining: GuestRange,
}

impl Extents {
    /// Begins a pass over the first `size` bytes of the disk.
    pub fn new(walk: Box<dyn ExtentWalk>, size: u64) -> Self {
        Self { walk, remaining: GuestRange { start: 0, end: size } }
    }

    /// How far the pass has come, as a guest offset.
    pub fn position(&self) -> u64 {
        self.remaining.start
    }

    /// Continues the pass with `range`, which does not begin before [`Extents::position`].
    pub fn continue_with(self, range: GuestRange) -> Self {
        Self { remaining: range, ..self }
    }

    /// Appends the next extents to `batch`, a bounded number. Returns false if there are none left.
    pub async fn next(&mut self, batch: &mut Vec<Extent>) -> Result<bool> {
        if self.remaining.is_empty() {
            return Ok(false);
        }
        self.walk.list(self.remaining, batch).await?;
        self.remaining.start = batch.last().map_or(self.remaining.end, Extent::end);
        Ok(true)
    }
}
