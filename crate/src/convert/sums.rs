//! Guest sums: for each MiB of a disk that has data, 16 bytes that identify its bytes. Two disks with the same sums have the same bytes,
//! whatever their formats, and whichever jobs have decoded them.
//!
//! The sum of a MiB is that of one hash for each block of 4 KiB that is not all zeros (`decant_codec::sums`). So zeros cost nothing, whether they are
//! stored or not, and parts that several jobs have computed add up: a block is never divided between two jobs. The hashes depend on a
//! random seed, so no image can be made that has the sums of another one.

use crate::compress::GuestRun;
use crate::error::{Error, Result};
use crate::offsets::GuestOffset;
use decant_codec::sums::{BLOCK, sum_of};
use serde::{Deserialize, Serialize};

/// The part of a disk that has one sum, in bytes.
pub const SUMMED: u64 = 1 << 20;

/// How jobs compute sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summing {
    /// Random, and the same for all disks that are compared.
    pub seed: u64,
    /// Whether only the sums are wanted: the data is neither encoded nor written.
    pub discards: bool,
}

/// The number of a MiB of the disk, and its sum, or what one job adds to it.
pub(crate) type PartSum = (u64, u128);

impl Summing {
    /// The sums of `runs`, the data of a job in `bytes`, ascending. Fails with `internal` if memory runs out.
    pub(super) fn sums_of(self, runs: &[GuestRun], bytes: &[u8]) -> Result<Vec<PartSum>> {
        let mut sums = JobSums { seed: self.seed, sums: Vec::new() };
        // The block that the last run shares with the next one: its start, and its bytes.
        let mut shared: Option<(GuestOffset, [u8; BLOCK])> = None;
        for run in runs {
            let mut start = run.guest;
            while start < run.end() {
                let block = start.align_down(BLOCK as u64);
                let whole = if start == block { run.end().align_down(BLOCK as u64) } else { block };
                let end = if whole > start {
                    (start.align_down(SUMMED) + SUMMED).min(whole)
                } else {
                    (block + BLOCK as u64).min(run.end())
                };
                let from = run.start + (start - run.guest) as usize;
                let data = &bytes[from..from + (end - start) as usize];
                if let Some((last, bytes)) = shared.take_if(|(last, _)| *last != block) {
                    sums.add(last, &bytes)?;
                }
                if whole > start {
                    sums.add(start, data)?;
                } else {
                    let (_, bytes) = shared.get_or_insert((block, [0; BLOCK]));
                    bytes[(start - block) as usize..][..data.len()].copy_from_slice(data);
                }
                start = end;
            }
        }
        if let Some((block, bytes)) = shared {
            sums.add(block, &bytes)?;
        }
        Ok(sums.sums)
    }
}

/// The sums of a job so far.
struct JobSums {
    seed: u64,
    sums: Vec<PartSum>,
}

impl JobSums {
    /// Adds `data`, whole blocks in one MiB from `start` on. Fails with `internal` if memory runs out.
    fn add(&mut self, start: GuestOffset, data: &[u8]) -> Result<()> {
        let (part, sum) = (start.0 / SUMMED, sum_of(data, start.0 / BLOCK as u64, self.seed));
        match self.sums.last_mut() {
            Some((last, joined)) if *last == part => *joined = joined.wrapping_add(sum),
            _ if sum == 0 => {}
            _ => {
                self.sums.try_reserve(1).map_err(|_| out_of_memory(self.sums.len()))?;
                self.sums.push((part, sum));
            }
        }
        Ok(())
    }
}

/// The sums of a disk, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The numbers of the MiBs that have data, ascending.
    parts: Vec<u64>,
    /// The sums of these MiBs.
    sums: Vec<u128>,
}

impl Sums {
    /// Adds the sums of a job. Jobs end nearly in the order of the disk. Fails with `internal` if memory runs out.
    pub(super) fn add(&mut self, sums: impl ExactSizeIterator<Item = PartSum>) -> Result<()> {
        let len = self.parts.len();
        let reserved = self.parts.try_reserve(sums.len()).and_then(|()| self.sums.try_reserve(sums.len()));
        reserved.map_err(|_| out_of_memory(len))?;
        for (part, sum) in sums {
            let at = match self.parts.last() {
                Some(&last) if last >= part => self.parts.binary_search(&part),
                _ => Err(self.parts.len()),
            };
            match at {
                Ok(at) => self.sums[at] = self.sums[at].wrapping_add(sum),
                Err(at) => {
                    self.parts.insert(at, part);
                    self.sums.insert(at, sum);
                }
            }
        }
        Ok(())
    }

    /// Adds the sums of another part of the disk. Fails with `internal` if memory runs out.
    pub(super) fn join(&mut self, mut other: Self) -> Result<()> {
        // `other` has the sums before a resume point: most of them, and the first ones.
        std::mem::swap(self, &mut other);
        self.add(other.iter())
    }

    /// The numbers of the MiBs in which the two disks differ, ascending.
    pub(super) fn differing(&self, other: &Self) -> Vec<u64> {
        let (mut ours, mut others) = (self.iter().peekable(), other.iter().peekable());
        let mut differing = Vec::new();
        loop {
            let part = match (ours.peek(), others.peek()) {
                (None, None) => return differing,
                (Some(&(part, _)), None) | (None, Some(&(part, _))) => part,
                (Some(&(one, _)), Some(&(other, _))) => one.min(other),
            };
            let is_part = |&(number, _): &PartSum| number == part;
            if ours.next_if(is_part) != others.next_if(is_part) {
                differing.push(part);
            }
        }
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = PartSum> {
        self.parts.iter().copied().zip(self.sums.iter().copied())
    }

    /// The sums as bytes: for each MiB that has data, ascending, its number in 8 bytes and its sum in 16, little-endian. Fails with
    /// `internal` if memory runs out.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        const ENTRY: usize = 24;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(ENTRY * self.parts.len()).map_err(|_| out_of_memory(self.parts.len()))?;
        for (part, sum) in self.iter() {
            bytes.extend(part.to_le_bytes());
            bytes.extend(sum.to_le_bytes());
        }
        Ok(bytes)
    }
}

fn out_of_memory(sums: usize) -> Error {
    Error::out_of_memory((sums + 1) * size_of::<PartSum>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outputs may store smaller units than the blocks: runs begin and end inside them.
    #[test]
    fn sums_do_not_depend_on_the_runs() {
        const SECTOR: usize = 512;
        let summing = Summing { seed: 7, discards: false };
        let (guest, len) = (GuestOffset(SUMMED - 8192), 6 * BLOCK + 3 * SECTOR);
        // Sectors of zeros, at the start, inside and at the end of blocks, and over several blocks.
        let is_zero = |sector: usize| [0, 7, 8, 12, 13].contains(&sector) || (20..37).contains(&sector);
        let bytes: Vec<u8> = (0..len).map(|at| if is_zero(at / SECTOR) { 0 } else { (at / 5 + 1) as u8 | 1 }).collect();
        let run = |start: usize, len: usize| GuestRun { guest: guest + start as u64, start, len };
        let whole = summing.sums_of(&[run(0, len)], &bytes).unwrap();
        assert_eq!(whole.iter().map(|(part, _)| *part).collect::<Vec<_>>(), [0, 1]);
        let sectors = (0..len / SECTOR).filter(|&sector| !is_zero(sector));
        let each: Vec<_> = sectors.clone().map(|sector| run(sector * SECTOR, SECTOR)).collect();
        assert_eq!(summing.sums_of(&each, &bytes).unwrap(), whole, "a run for each sector");
        let mut joined: Vec<GuestRun> = Vec::new();
        for run in each {
            match joined.last_mut() {
                Some(last) if last.end() == run.guest => last.len += run.len,
                _ => joined.push(run),
            }
        }
        assert_eq!(summing.sums_of(&joined, &bytes).unwrap(), whole, "runs of data");
    }

    #[test]
    fn sums_of_jobs_add_up_in_any_order() {
        // (the sums of each job, of the disk)
        type Jobs<'a> = &'a [&'a [PartSum]];
        let cases: &[(Jobs, &[PartSum])] = &[
            (&[], &[]),
            (&[&[]], &[]),
            (&[&[(3, 1), (5, 2)], &[(9, 4)]], &[(3, 1), (5, 2), (9, 4)]),
            (&[&[(9, 4)], &[(3, 1), (5, 2)], &[(0, 8)]], &[(0, 8), (3, 1), (5, 2), (9, 4)]),
            (&[&[(3, u128::MAX)], &[(3, 2)]], &[(3, 1)]),
        ];
        for (jobs, expected) in cases {
            let mut sums = Sums::default();
            jobs.iter().for_each(|job| sums.add(job.iter().copied()).unwrap());
            assert!(sums.iter().eq(expected.iter().copied()), "{jobs:?}");
        }
    }

    #[test]
    fn differences_are_found() {
        let of = |sums: &[PartSum]| {
            let mut all = Sums::default();
            all.add(sums.iter().copied()).unwrap();
            all
        };
        let base: &[PartSum] = &[(2, 7), (5, 8)];
        // (sums, the first MiB that differs from the base)
        let cases: &[(&[PartSum], Option<u64>)] = &[
            (&[(2, 7), (5, 8)], None),
            (&[(2, 7), (5, 9)], Some(5)),
            (&[(2, 7)], Some(5)),
            (&[(1, 1), (2, 7), (5, 8)], Some(1)),
            (&[(2, 7), (3, 1), (5, 8)], Some(3)),
            (&[(2, 7), (5, 8), (9, 1)], Some(9)),
            (&[], Some(2)),
        ];
        for (sums, expected) in cases {
            let differing = of(sums).differing(&of(base));
            assert_eq!(differing.first(), expected.as_ref(), "{sums:?}");
            assert_eq!(of(base).differing(&of(sums)), differing, "{sums:?}");
        }
        assert_eq!(of(&[(1, 1), (5, 9), (9, 1)]).differing(&of(base)), [1, 2, 5, 9]);
        assert_eq!(of(&[(1, 0x0203)]).to_bytes().unwrap()[..10], [1, 0, 0, 0, 0, 0, 0, 0, 3, 2]);
    }
}
