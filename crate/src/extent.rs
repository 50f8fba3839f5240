//! What lies where on a disk: the one shape that every format hands on.

use crate::error::Result;
use crate::units::{GuestOffset, HostOffset};
use futures_util::future::LocalBoxFuture;

/// A stretch of the guest's disk and what lies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub start: GuestOffset,
    /// Length in bytes, never 0.
    pub len: u64,
    /// What the guest reads there.
    pub kind: ExtentKind,
}

/// What the guest reads in an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentKind {
    /// Nothing is recorded: zeros.
    Unallocated,
    /// Recorded as zeros; the file may still keep space for it at `host`.
    Zero {
        /// Where the space lies, if any; what stands there is not what the guest reads.
        host: Option<HostOffset>,
    },
    /// The bytes of the file from `host` on.
    Data {
        /// Where the bytes lie.
        host: HostOffset,
    },
    /// One compressed cluster: raw deflate that inflates to `cluster` bytes, of which the extent
    /// is the first part.
    Compressed {
        /// Where the compressed bytes lie.
        host: HostOffset,
        /// How many they are at most; the stream may end earlier.
        host_len: u64,
        /// What they inflate to, in bytes.
        cluster: u64,
    },
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

    /// The first `len` bytes, and what follows them, if anything does. Not for a compressed cluster,
    /// which is a whole.
    pub fn split(self, len: u64) -> (Self, Option<Self>) {
        if len >= self.len {
            return (self, None);
        }
        let behind = |host: HostOffset| HostOffset(host.0 + len);
        let kind = match self.kind {
            ExtentKind::Data { host } => ExtentKind::Data { host: behind(host) },
            ExtentKind::Zero { host } => ExtentKind::Zero { host: host.map(behind) },
            whole => whole,
        };
        (Self { len, ..self }, Some(Self { start: GuestOffset(self.start.0 + len), len: self.len - len, kind }))
    }

    /// Grows by `next`, which follows in guest order, if both are one stretch.
    pub fn try_extend(&mut self, next: &Extent) -> bool {
        let follows = |a: HostOffset, b: HostOffset| a.0.checked_add(self.len) == Some(b.0);
        let one = match (self.kind, next.kind) {
            (ExtentKind::Unallocated, ExtentKind::Unallocated) => true,
            (ExtentKind::Zero { host: None }, ExtentKind::Zero { host: None }) => true,
            (ExtentKind::Zero { host: Some(a) }, ExtentKind::Zero { host: Some(b) }) => follows(a, b),
            (ExtentKind::Data { host: a }, ExtentKind::Data { host: b }) => follows(a, b),
            _ => false,
        };
        if one && self.end() == next.start.0 {
            self.len += next.len;
            return true;
        }
        false
    }
}

/// Lists the extents of a disk in guest order, without gaps, from 0 to the virtual size.
pub trait ExtentWalk {
    /// Appends the next extents to `batch`, a bounded number; `false` when there are none left.
    fn next<'a>(&'a mut self, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<bool>>;
}
