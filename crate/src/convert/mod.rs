//! Conversion: plans extents into jobs and runs them through a pipeline.

mod ahead;
mod assembly;
mod cache;
pub(crate) mod decoder;
mod in_order;
pub(crate) mod job;
mod output;
mod pipeline;
mod plan;
mod read;
mod repeats;
mod resumed;
pub(crate) mod run;
mod sector_size;
mod settled;
mod sum;
mod workload;

pub use in_order::InOrder;
pub use job::Job;
pub use output::Output;
pub use pipeline::{Cancel, ExecutedJob, Executor, Progress, convert, convert_in_order, resume};
pub use read::read;
pub use resumed::notice_of_start;
pub use run::Transcoder;
pub use settled::ResumePoint;
pub use workload::{Budget, MAX_JOB, Workload};
