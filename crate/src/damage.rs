//! What can be wrong with a part of an image: an error where the image is converted whole, a lost
//! range where what is left of it is salvaged.

use crate::error::Error;
use crate::units::HostOffset;
use serde::{Deserialize, Serialize};

/// Why a range of the disk cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Damage {
    /// The file ends before or inside the L1 table.
    L1Truncated,
    /// An L1 entry points between clusters.
    L2Unaligned,
    /// The file ends before or inside an L2 table.
    L2Truncated,
    /// An L2 entry points between clusters.
    ClusterUnaligned,
    /// The file ends before or inside a data cluster.
    ClusterTruncated,
    /// The file ends before a compressed cluster.
    CompressedTruncated,
    /// The file ends inside a compressed cluster.
    CompressedCut,
    /// Compressed data that does not decompress to a whole cluster.
    CompressedInvalid,
    /// A zero cluster in version 2, which has none.
    ZeroInVersion2,
    /// A subcluster that is both allocated and zero.
    SubclusterConflict,
    /// An allocated subcluster of a cluster that has no place.
    SubclusterNowhere,
    /// A place in a data file that is not the guest's.
    DataFileOffset,
    /// A compressed cluster in an image with a data file.
    DataFileCompressed,
    /// More ranges were lost than are listed one by one.
    Many,
}

impl Damage {
    /// What is wrong, as a part of a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            Self::L1Truncated => "the file ends before the end of the L1 table",
            Self::L2Unaligned => "an L2 table is not aligned to a cluster",
            Self::L2Truncated => "the file ends before the end of an L2 table",
            Self::ClusterUnaligned => "a data cluster is not aligned to a cluster",
            Self::ClusterTruncated => "the file ends before the end of a data cluster",
            Self::CompressedTruncated => "the file ends before a compressed cluster",
            Self::CompressedCut => "the file ends inside a compressed cluster",
            Self::CompressedInvalid => "a compressed cluster does not decompress to a whole cluster",
            Self::ZeroInVersion2 => "a version 2 image has a zero cluster",
            Self::SubclusterConflict => "a subcluster is both allocated and zero",
            Self::SubclusterNowhere => "an allocated subcluster has no place in the file",
            Self::DataFileOffset => "an offset in the data file is not the guest offset",
            Self::DataFileCompressed => "an image with a data file has a compressed cluster",
            Self::Many => "there is more damage than is listed one by one",
        }
    }

    /// As an error at `offset` of a file of `size` bytes.
    pub fn error(self, offset: HostOffset, size: u64) -> Error {
        let what = match self {
            Self::L1Truncated => "the L1 table",
            Self::L2Truncated => "an L2 table",
            Self::ClusterTruncated => "a data cluster",
            Self::CompressedTruncated => "a compressed cluster",
            Self::CompressedCut => "the end of a compressed cluster",
            other => return Error::corrupt(other.reason(), offset),
        };
        Error::truncated(what, offset, size)
    }
}

/// A range of the disk that could not be read and became zeros, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// First byte.
    pub start: u64,
    /// Length.
    pub len: u64,
    /// Why.
    pub damage: Damage,
}

/// The ranges that a conversion has lost.
#[derive(Debug, Default)]
pub struct LostRanges(Vec<Lost>);

/// The most ranges that are listed one by one, so that a list takes at most 24 MB.
const MOST: usize = 1 << 20;

impl LostRanges {
    /// Takes in more ranges, in any order.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Lost>) {
        for lost in more {
            let is_full = self.0.len() >= MOST;
            match self.0.last_mut() {
                Some(last) if last.damage == lost.damage && last.start + last.len == lost.start => last.len += lost.len,
                Some(last) if is_full => {
                    let end = (last.start + last.len).max(lost.start + lost.len);
                    last.start = last.start.min(lost.start);
                    last.len = end - last.start;
                    last.damage = Damage::Many;
                }
                _ => self.0.push(lost),
            }
        }
    }

    /// The ranges in guest order, neighbours with the same reason as one.
    pub fn finish(mut self) -> Vec<Lost> {
        let mut ranges = std::mem::take(&mut self.0);
        ranges.sort_unstable_by_key(|lost| lost.start);
        ranges.into_iter().for_each(|lost| self.extend([lost]));
        self.0
    }
}
