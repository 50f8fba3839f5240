//! The trait that runs jobs for the pipeline, and the result of a job.

use super::digest::DigestData;
use super::job::Job;
use super::sums::PartSum;
use super::workload::Workload;
use crate::compress::Placement;
use crate::disk::losses::Lost;
use crate::error::Result;
use crate::io::target::OutputBytes;
use futures_util::future::LocalBoxFuture;

/// Runs jobs: reads and decodes their data.
pub trait Executor {
    /// The type of its buffers.
    type Bytes: OutputBytes;

    /// The files that jobs read, and how many jobs to keep in flight.
    fn workload(&self) -> &Workload;

    /// Runs one job. Fails with `source`, `corrupt`, `target` or `internal`.
    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Self::Bytes>>>;

    /// Takes back the buffer of a job after its data is written.
    fn take_back(&self, _bytes: Self::Bytes) {}
}

/// The result of a job, for the pipeline.
#[derive(Default)]
pub struct ExecutedJob<B> {
    /// The data and where it belongs; `None` if the executor has written all of it.
    pub(crate) output: Option<(B, Placement)>,
    /// The data of [`Job::digested`]; `None` if the job has none, or if `output` has it, unencoded.
    pub(crate) digested: Option<DigestData<B>>,
    /// Number of bytes read.
    pub read: u64,
    /// Number of bytes that the job adds to the output, without zeros.
    pub written: u64,
    /// In a salvage: the ranges that could not be executed.
    pub(crate) lost: Vec<Lost>,
    /// Whether the data has a GPT for sectors of 4,096 bytes.
    pub(crate) large_sectors: bool,
    /// The CRC-32 of [`Job::summed`]; `None` if the job had no data.
    pub(crate) crc: Option<u32>,
    /// The guest sums, if they are wanted.
    pub(crate) sums: Vec<PartSum>,
}
