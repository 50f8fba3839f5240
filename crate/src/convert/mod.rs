//! Moving the data: extents are planned into jobs, jobs run through a pipeline.

mod decoder;
mod job;
mod pipeline;
mod plan;

pub use decoder::{Decoder, Outcome};
pub use job::{Buffers, Job, Loaded, MAX_JOB, Part, Piece, Stored};
pub use pipeline::{Cancel, Converted, Decoded, Executor, Progress, convert};
pub use plan::{JobLimits, Planner};
