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
use serde::{Deserialize, Serialize};

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

/// The result of a job, for the pipeline. Serialised without its bytes.
#[derive(Default, Serialize, Deserialize)]
#[serde(bound = "B: Default")]
pub struct ExecutedJob<B> {
    /// The data and where it belongs; `None` if the executor has written all of it.
    #[serde(with = "without_bytes")]
    pub(crate) output: Option<(B, Placement)>,
    /// The data of [`Job::digested`]; `None` if the job has none, or if `output` has it, unencoded.
    #[serde(with = "without_bytes")]
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

mod without_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<B, P: Serialize, S: Serializer>(
        data: &Option<(B, P)>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        data.as_ref().map(|(_, places)| places).serialize(serializer)
    }

    pub(super) fn deserialize<'de, B: Default, P: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<(B, P)>, D::Error> {
        let places: Option<P> = Option::deserialize(deserializer)?;
        Ok(places.map(|places| (B::default(), places)))
    }
}
