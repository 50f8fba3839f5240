//! What lies where on a disk: the one shape that every format hands on.

use crate::damage::Damage;
use crate::error::Result;
use crate::source::FileId;
use crate::units::{GuestOffset, GuestRange, HostOffset};
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

/// A stretch of the guest's disk and what lies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub start: GuestOffset,
    /// Length in bytes, never 0.
    pub len: u64,
    /// The layer that it comes from: 0 is the image, 1 its backing file, and so on.
    pub depth: u16,
    /// What the guest reads there.
    pub kind: ExtentKind,
}

/// What the guest reads in an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentKind {
    /// Nothing is recorded: what the backing file holds, or zeros.
    Unallocated {
        /// Where the file keeps space for it, if it does: a subcluster beside others that have data.
        host: Option<HostOffset>,
    },
    /// Recorded as zeros.
    Zero {
        /// Where the file keeps space for it, if it does; what stands there is not what the guest reads.
        host: Option<HostOffset>,
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
    /// A part of one compressed cluster.
    Compressed {
        /// Which file.
        file: FileId,
        /// Where the compressed bytes lie.
        host: HostOffset,
        /// How many they are at most; the stream may end earlier.
        host_len: u64,
        /// What they decompress to, in bytes.
        cluster: u64,
        /// Where in the cluster the extent begins.
        skip: u64,
        /// How they are compressed.
        compression: Compression,
    },
    /// Salvage only: it cannot be read.
    Lost(Damage),
}

/// How data is encrypted. It is so in sectors of 512 bytes, each with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encrypted {
    /// Which of the image's ciphers, counted from the top layer that has one.
    pub cipher: u16,
    /// Whether a sector's number is that on the disk; otherwise that in the file.
    pub by_guest: bool,
}

/// How clusters are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// Raw deflate (RFC 1951).
    Deflate,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Extent {
    /// The first byte behind the extent.
    pub fn end(&self) -> u64 {
        self.start.0 + self.len
    }

    /// Whether the guest may read something other than zeros.
    pub fn has_data(&self) -> bool {
        matches!(self.kind, ExtentKind::Data { .. } | ExtentKind::Compressed { .. })
    }

    /// The first `len` bytes, and what follows them, if anything does.
    pub fn split(self, len: u64) -> (Self, Option<Self>) {
        if len >= self.len {
            return (self, None);
        }
        let behind = |host: HostOffset| HostOffset(host.0 + len);
        let mut kind = self.kind;
        match &mut kind {
            ExtentKind::Data { host, .. }
            | ExtentKind::Zero { host: Some(host) }
            | ExtentKind::Unallocated { host: Some(host) } => *host = behind(*host),
            ExtentKind::Compressed { skip, .. } => *skip += len,
            ExtentKind::Unallocated { host: None } | ExtentKind::Zero { host: None } | ExtentKind::Lost(_) => {}
        }
        (Self { len, ..self }, Some(Self { start: GuestOffset(self.start.0 + len), len: self.len - len, kind, ..self }))
    }

    /// Grows by `next`, which follows in guest order, if both are one stretch.
    pub fn try_extend(&mut self, next: &Extent) -> bool {
        if self.end() != next.start.0 || self.depth != next.depth || !self.continues(next) {
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
            (Unallocated { host: Some(a) }, Unallocated { host: Some(b) })
            | (Zero { host: Some(a) }, Zero { host: Some(b) }) => follows(a, b),
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
    /// Appends extents from `range.start` on to `batch`: at least one, a bounded number, none past
    /// `range.end`, without gaps. The range is not empty and inside the disk; the ranges of one
    /// walk ascend.
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>>;
}

/// A pass over all extents of a disk, in guest order, without gaps.
pub struct Extents {
    walk: Box<dyn ExtentWalk>,
    rest: GuestRange,
}

impl Extents {
    /// Begins a pass over the first `size` bytes.
    pub fn new(walk: Box<dyn ExtentWalk>, size: u64) -> Self {
        Self { walk, rest: GuestRange { start: 0, end: size } }
    }

    /// Appends the next extents to `batch`, a bounded number; `false` when there are none left.
    pub async fn next(&mut self, batch: &mut Vec<Extent>) -> Result<bool> {
        if self.rest.is_empty() {
            return Ok(false);
        }
        self.walk.list(self.rest, batch).await?;
        self.rest.start = batch.last().map_or(self.rest.end, Extent::end);
        Ok(true)
    }
}
