//! Finds zeros by storage unit: a unit of zeros becomes a hole.

use crate::io::target::Run;
use crate::offsets::GuestOffset;
use decant_codec::is_zero;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A run of data in a buffer, with its place on the disk. Lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestRun {
    /// The guest offset of the data.
    pub guest: GuestOffset,
    /// Position in the buffer.
    pub start: usize,
    /// Length.
    pub len: usize,
}

impl GuestRun {
    /// The guest offset after the last byte.
    pub(crate) fn end(&self) -> GuestOffset {
        self.guest + self.len as u64
    }

    /// The run in an output that stores data at its guest offset.
    pub(crate) fn in_output(self) -> Run {
        Run { offset: self.guest.0, start: self.start, len: self.len }
    }
}

/// Appends the runs of data in `range` of `bytes`, which begins at guest offset `guest`. `guest` and the start of
/// `range` must be multiples of `unit`, in bytes. A run covers whole units, except at the end. `zeros` are ascending
/// ranges of whole units that count as zeros, whatever they contain.
pub(crate) fn data_runs(
    bytes: &[u8],
    range: Range<usize>,
    guest: GuestOffset,
    unit: usize,
    zeros: &[Range<usize>],
    runs: &mut Vec<GuestRun>,
) {
    let mut zeros = &zeros[zeros.partition_point(|zero| zero.end <= range.start)..];
    let mut open: Option<GuestRun> = None;
    let mut at = range.start;
    while at < range.end {
        if let [zero, others @ ..] = zeros
            && zero.start <= at
        {
            runs.extend(open.take());
            (at, zeros) = (zero.end, others);
            continue;
        }
        let block = &bytes[at..(at + unit).min(range.end)];
        if is_zero(block) {
            runs.extend(open.take());
        } else {
            let run = open.get_or_insert(GuestRun { guest: guest + (at - range.start) as u64, start: at, len: 0 });
            run.len += block.len();
        }
        at += block.len();
    }
    runs.extend(open);
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: GuestOffset = GuestOffset(1 << 20);

    #[test]
    fn finds_runs_of_units() {
        // (length, positions of nonzero bytes, runs as (start, length))
        type Runs = &'static [(usize, usize)];
        let cases: &[(usize, &[usize], Runs)] = &[
            (0, &[], &[]),
            (8192, &[], &[]),
            (8192, &[0], &[(0, 4096)]),
            (8192, &[4095, 4096], &[(0, 8192)]),
            (12288, &[4096], &[(4096, 4096)]),
            (12288, &[0, 12287], &[(0, 4096), (8192, 4096)]),
            (5000, &[4999], &[(4096, 904)]),
            (4097, &[4096], &[(4096, 1)]),
            (100, &[99], &[(0, 100)]),
        ];
        for (len, marks, expected) in cases {
            let mut bytes = vec![0; 4096 + len];
            for mark in *marks {
                bytes[4096 + mark] = 1;
            }
            let mut runs = Vec::new();
            data_runs(&bytes, 4096..4096 + len, GUEST, 4096, &[], &mut runs);
            let found: Vec<_> = runs.iter().map(|run| (run.start - 4096, run.len)).collect();
            assert_eq!(&found, expected, "{len} {marks:?}");
            // Units that are known to be zeros are skipped.
            let zeros = [0..4096, 8192..12_288, 20_480..24_576];
            let mut without = Vec::new();
            data_runs(&bytes, 4096..4096 + len, GUEST, 4096, &zeros, &mut without);
            let end = bytes.len();
            for zero in zeros {
                bytes[zero.start.min(end)..zero.end.min(end)].fill(0);
            }
            let mut filled = Vec::new();
            data_runs(&bytes, 4096..4096 + len, GUEST, 4096, &[], &mut filled);
            assert_eq!(without, filled, "{len} {marks:?}");
            assert!(runs.iter().all(|run| run.guest - GUEST == (run.start - 4096) as u64));
        }
    }
}
