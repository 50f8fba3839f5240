//! Moving the data: extents are planned into jobs, jobs run through a pipeline.

mod job;
mod pipeline;
mod plan;

pub use job::{Buffers, Decoder, Job, MAX_JOB, Part, Piece, Stored};
pub use pipeline::{Cancel, Decoded, Executor, Progress, convert};
pub use plan::{JobLimits, Planner};
