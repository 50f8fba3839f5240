//! The CRC-32 of a disk that jobs read in any order.

use super::job::{Job, Piece};
use super::reshape::Reshaped;
use crate::compress::crc;
use crate::container::StatedCrc;
use crate::offsets::GuestRange;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Returns the CRC of `range`, a part of the disk that `job` accounts for: of the bytes of its pieces, which are stored unchanged, and
/// of zeros between them. What pieces have after `range` belongs to a disk that is larger. `bytes` is the output of the job if `is_output`, otherwise its input.
pub(super) fn crc_of(job: &Job, range: GuestRange, bytes: &[u8], is_output: bool) -> u32 {
    let (mut sum, mut at) = (0, range.start);
    for &Piece { input, output, output_len, .. } in &job.pieces {
        let (start, from) = (job.guest_of(output), if is_output { output } else { input });
        if start >= range.end {
            break;
        }
        let len = (range.end - start).min(output_len as u64);
        sum = crc::with_zeros(sum, start - at);
        sum = crc::joined(sum, crc::crc32(&bytes[from..from + len as usize]), len);
        at = start + len;
    }
    crc::with_zeros(sum, range.end - at)
}

/// Joins the CRCs of the parts of a disk, in any order, and compares the result with the CRC that a container states.
pub(super) struct DiskSum {
    pub(super) stated: StatedCrc,
    reshaped: Option<Rc<Reshaped>>,
    /// The length and the CRC of each part, by guest offset. Adjacent parts are joined.
    parts: BTreeMap<u64, (u64, u32)>,
}

impl DiskSum {
    /// Compares the disk, or the one that `reshaped` has made of it.
    pub(super) fn new(stated: StatedCrc, reshaped: Option<Rc<Reshaped>>) -> Self {
        Self { stated, reshaped, parts: BTreeMap::new() }
    }

    /// Adds `range`, which a job accounts for, with the CRC `sum`; without one, the range is all zeros. The disk may be longer than the
    /// file: the part after the end of the file is not counted.
    pub(super) fn add(&mut self, range: GuestRange, sum: Option<u32>) {
        let Some(range) = within(range, self.stated.size()) else { return };
        let (mut start, mut len) = (range.start.0, range.len());
        let mut sum = sum.unwrap_or_else(|| crc::of_zeros(len));
        if let Some((&before, &(before_len, before_sum))) = self.parts.range(..start).next_back()
            && before + before_len == start
        {
            sum = crc::joined(before_sum, sum, len);
            (start, len) = (before, before_len + len);
        }
        if let Some((after_len, after_sum)) = self.parts.remove(&(start + len)) {
            sum = crc::joined(sum, after_sum, after_len);
            len += after_len;
        }
        self.parts.insert(start, (len, sum));
    }

    /// Fails with `corrupt` unless the CRC of the whole disk is the stated one.
    pub(super) fn check(&self) -> crate::error::Result<()> {
        let whole = self.parts.get(&0).filter(|(len, _)| *len == self.stated.size());
        let sum = whole.map_or(0, |(_, sum)| *sum);
        let of_image = |reshaped: &Rc<Reshaped>| reshaped.sum_of_image(sum, self.stated.size());
        self.stated.check(self.reshaped.as_ref().map_or(sum, of_image))
    }
}

/// The part of `range` before `end`; `None` if there is none.
pub(super) fn within(range: GuestRange, end: u64) -> Option<GuestRange> {
    let end = range.end.0.min(end);
    (range.start.0 < end).then(|| GuestRange::from(range.start.0..end))
}
