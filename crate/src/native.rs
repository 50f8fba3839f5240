//! An executor on the calling thread, for tests and fuzzing.

use crate::container::part::{ContainerNumber, DecodedPart, PartDecoder, SentPart, decode_part};
use crate::convert::{ExecutedJob, Executor, Job, Transcoder, Workload};
use crate::crypt::Keys;
use crate::error::Result;
use crate::io::source::Files;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// Runs each job on the calling thread.
pub struct Inline {
    /// How many jobs it is given, and what they read.
    pub workload: Workload,
    transcoder: Transcoder,
}

impl Inline {
    /// Reads from `files`, decrypts with `keys`, and keeps `depth` jobs of `job_bytes` bytes in flight.
    pub fn new(files: Files, keys: Keys, depth: usize, job_bytes: u64) -> Self {
        let workload = Workload { files, job_bytes, depth, ahead: 0, read_ahead: 0 };
        Self { workload, transcoder: Transcoder::new(keys) }
    }
}

impl Executor for Inline {
    type Bytes = Vec<u8>;

    fn workload(&self) -> &Workload {
        &self.workload
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Vec<u8>>>> {
        async move { Ok(self.transcoder.run(job, &self.workload.files).await?.executed(|bytes| bytes)) }.boxed_local()
    }
}

/// Decodes parts of compressed files on the calling thread, when they are awaited.
pub struct InlineParts;

impl PartDecoder for InlineParts {
    fn depth(&self) -> usize {
        2
    }

    fn begin(&self) -> Box<dyn SentPart> {
        Box::<Vec<u8>>::default()
    }
}

impl SentPart for Vec<u8> {
    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn decode(self: Box<Self>, container: ContainerNumber) -> LocalBoxFuture<'static, Result<DecodedPart>> {
        async move {
            container.prepare().await?;
            let (facts, bytes) = decode_part(container, *self)?;
            Ok(DecodedPart { facts, bytes: Box::new(bytes) })
        }
        .boxed_local()
    }
}
