//! Conversion: plans extents into jobs and runs them through a pipeline. Reads ranges of a disk.

mod cache;
mod compare;
pub(crate) mod decoder;
pub(crate) mod digest;
mod disk_source;
mod executor;
mod gpt;
mod in_order;
pub(crate) mod job;
mod measure;
mod output;
mod pipeline;
mod plan;
mod progress;
mod repeats;
mod reshape;
pub(crate) mod run;
mod sector_size;
mod sum;
mod sums;
mod tally;
mod turns;
mod within;
mod workload;

pub use compare::{Compared, ComparedDisk, Comparing, ComparisonEvents, compare};
pub use digest::{Digest, DiskDigest, DiskHasher};
pub use disk_source::DiskSource;
pub use executor::{ExecutedJob, Executor};
pub use in_order::InOrder;
pub use job::Job;
pub use measure::{Measured, measure};
pub use output::Output;
pub use pipeline::{ConvertedDisk, ConvertedDisks, convert_disks, sums_of};
pub use progress::{Cancel, Progress, ResumePoint};
pub use reshape::{Change, Reshaped, reshaped};
pub use run::Transcoder;
use sector_size::layout_of;
pub use sector_size::notice_of_start;
pub use sums::{SUMMED, Summing, Sums};
pub use workload::{Budget, MAX_JOB, Workload};

use crate::compress::{Encoding, Placement};
use crate::error::Result;
use crate::io::source::zeroed;
use crate::io::target::Abilities;
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::image::Image;
use crate::output::BLOCK;
use digest::Digested;
use plan::{JobLimits, Planner};
use run::JobOutput;

/// Maximum input and output of a job of [`read`], in bytes; a larger cluster may exceed it.
const READ_JOB: u64 = 4 << 20;

/// Returns the bytes of `range` of the disk, as the guest sees it. The range must be within the disk and of bounded length. In a salvage,
/// damaged ranges are zeros.
///
/// Fails with `missing-file` or `password` if a file or key is missing, with `source`, with `internal` if memory runs out, and with
/// `corrupt` at damage.
pub async fn read(image: &Image, range: GuestRange) -> Result<Vec<u8>> {
    let mut disk = zeroed(range.len() as usize)?;
    let limits = JobLimits {
        bytes: READ_JOB,
        unit: BLOCK,
        stored_unit: BLOCK,
        abilities: Abilities::default(),
        encoding: Encoding::Plain,
        digested: Digested::Nothing,
    };
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
