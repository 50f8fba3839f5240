//! Conversion: plans extents into jobs and runs them through a pipeline.

mod ahead;
mod assembly;
mod cache;
mod decoder;
mod in_order;
mod job;
mod output;
mod pipeline;
mod plan;
mod read;
mod repeats;
mod run;
mod settled;
mod workload;

pub use decoder::{DecodedJob, Decoder};
pub use in_order::InOrder;
pub use job::{Job, JobBuffers};
pub use output::Output;
pub use pipeline::{Cancel, ExecutedJob, Executor, Progress, convert, convert_in_order, resume};
pub use read::read;
pub use run::{JobOutput, SpareBuffers, Transcoder, run_job};
pub use settled::ResumePoint;
pub use workload::{Budget, MAX_JOB, Workload};
