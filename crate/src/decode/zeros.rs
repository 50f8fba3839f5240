//! The search for zeros, in blocks of 4 KiB: what is all zero stays a hole in the output.

use crate::sink::Run;
use crate::units::BLOCK;

/// Bytes that are tested at once; a whole number of SIMD registers.
const STEP: usize = 64;

/// Appends the runs of data in `bytes[start..end]`, which lies at `guest` on the disk (both are
/// multiples of the block). A run covers whole blocks, but for the end.
pub fn data_runs(bytes: &[u8], start: usize, end: usize, guest: u64, runs: &mut Vec<Run>) {
    let mut open: Option<Run> = None;
    let mut at = start;
    for block in bytes[start..end].chunks(BLOCK as usize) {
        if is_zero(block) {
            runs.extend(open.take());
        } else {
            let run = open.get_or_insert(Run { guest: guest + (at - start) as u64, start: at, len: 0 });
            run.len += block.len();
        }
        at += block.len();
    }
    runs.extend(open);
}

fn is_zero(block: &[u8]) -> bool {
    let mut steps = block.chunks_exact(STEP);
    steps.all(|step| step.iter().fold(0, |seen, byte| seen | byte) == 0)
        && steps.remainder().iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_runs_of_blocks() {
        // (length, positions of bytes that are not zero, runs as (start, length))
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
            data_runs(&bytes, 4096, 4096 + len, 1 << 20, &mut runs);
            let found: Vec<_> = runs.iter().map(|run| (run.start - 4096, run.len)).collect();
            assert_eq!(&found, expected, "{len} {marks:?}");
            assert!(runs.iter().all(|run| run.guest - (1 << 20) == (run.start - 4096) as u64));
        }
    }
}
