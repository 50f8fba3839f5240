//! Reads a range of the disk, as the guest sees it.

use super::plan::{JobLimits, Planner};
use super::run::{JobOutput, Transcoder};
use crate::compress::{Encoding, Placement};
use crate::error::Result;
use crate::io::source::zeroed;
use crate::io::target::Abilities;
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::image::Image;
use crate::output::BLOCK;

/// Maximum input and output of a job, in bytes; a larger cluster may exceed it.
const JOB: u64 = 4 << 20;

/// Returns the bytes of `range`, which must be within the disk and of bounded length. Fails with `missing-file` or
/// `password` if a file or key is missing, with `source`, with `internal` if memory runs out, and with `corrupt` at
/// damage. In a salvage, damaged ranges are zeros.
pub async fn read(image: &Image, range: GuestRange) -> Result<Vec<u8>> {
    let mut disk = zeroed(range.len() as usize)?;
    let limits = JobLimits { bytes: JOB, unit: BLOCK, abilities: Abilities::default(), encoding: Encoding::Plain };
    // Whole blocks, since part of an encrypted sector cannot be decrypted.
    let blocks = GuestRange {
        start: range.start.align_down(BLOCK),
        end: range.end.align_up(BLOCK).min(GuestOffset(image.virtual_size())),
    };
    let mut planner = Planner::new(image, image.extents_within(blocks)?, limits);
    let transcoder = Transcoder::new(image.keys());
    while let Some(job) = planner.next().await? {
        let output = transcoder.run(job, image.files()).await;
        let JobOutput { bytes, placement, .. } = output.map_err(|error| image.explain(error))?;
        let Placement::Runs(runs) = placement else { unreachable!("nothing is encoded") };
        for run in runs {
            let (start, end) = (run.guest.max(range.start), run.end().min(range.end));
            if start >= end {
                continue;
            }
            let from = run.start + (start - run.guest) as usize;
            let (to, len) = ((start - range.start) as usize, (end - start) as usize);
            disk[to..to + len].copy_from_slice(&bytes[from..from + len]);
        }
        transcoder.give_output(bytes);
    }
    image.keep(planner.into_pass());
    Ok(disk)
}
