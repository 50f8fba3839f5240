//! The search for zeros, by units of the output: a unit that is all zero stays a hole.

use crate::target::Run;
use decant_codec::is_zero;

/// Appends the runs of data in `bytes[start..end]`, which begins at guest offset `guest`. `start` and `guest` are multiples of
/// `unit`, which is in bytes. A run covers whole units, except at the end.
pub fn data_runs(bytes: &[u8], start: usize, end: usize, guest: u64, unit: usize, runs: &mut Vec<Run>) {
    let mut open: Option<Run> = None;
    let mut at = start;
    for block in bytes[start..end].chunks(unit) {
        if is_zero(block) {
            runs.extend(open.take());
        } else {
            let run = open.get_or_insert(Run { offset: guest + (at - start) as u64, start: at, len: 0 });
            run.len += block.len();
        }
        at += block.len();
    }
    runs.extend(open);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_runs_of_units() {
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
            data_runs(&bytes, 4096, 4096 + len, 1 << 20, 4096, &mut runs);
            let found: Vec<_> = runs.iter().map(|run| (run.start - 4096, run.len)).collect();
            assert_eq!(&found, expected, "{len} {marks:?}");
            assert!(runs.iter().all(|run| run.offset - (1 << 20) == (run.start - 4096) as u64));
        }
    }
}
