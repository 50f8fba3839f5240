//! `std::fs` as source and sink, and an executor on the calling thread: for tests, fuzzing and
//! benchmarks.

use crate::convert::{Buffers, Decoded, Decoder, Executor, Job, Loaded, Outcome};
use crate::error::{Error, ErrorKind, Result};
use crate::extras::{Ciphers, Keys};
use crate::sink::{Run, Sink};
use crate::source::{Files, Source};
use crate::units::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file that is read.
pub struct FileSource {
    file: File,
    size: u64,
}

impl FileSource {
    /// Opens `path`. Fails with `source`.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |cause: std::io::Error| {
            Error::new(ErrorKind::Source, format!("Could not open {}: {cause}", path.display()))
        };
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        Ok(Self { file, size })
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let result = self.file.read_exact_at(buf, offset.0);
        ready(result.map_err(|cause| Error::new(ErrorKind::Source, format!("Could not read the image: {cause}"))))
            .boxed_local()
    }
}

/// A file that is written, sparse.
pub struct FileSink(File);

impl FileSink {
    /// Writes to `file`, which is empty.
    pub fn new(file: File) -> Self {
        Self(file)
    }
}

fn sink_error(cause: std::io::Error) -> Error {
    Error::new(ErrorKind::Sink, format!("Could not write the output: {cause}"))
}

impl Sink<Vec<u8>> for FileSink {
    fn ordered(&self) -> bool {
        false
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        ready(self.0.set_len(len).map_err(sink_error)).boxed_local()
    }

    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        let write = |run: &Run| self.0.write_all_at(&bytes[run.start..run.start + run.len], run.guest);
        ready(runs.iter().try_for_each(write).map_err(sink_error)).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        // A file without a length is no disk.
        let _ = self.0.set_len(0);
        ready(()).boxed_local()
    }
}

/// Runs each job where it stands.
pub struct Inline {
    files: Files,
    ciphers: Ciphers,
    depth: usize,
    job_bytes: u64,
}

impl Inline {
    /// Reads from `files`; keeps `depth` jobs of `job_bytes` bytes in flight.
    pub fn new(files: Files, keys: &Keys, depth: usize, job_bytes: u64) -> Result<Self> {
        Ok(Self { files, ciphers: Ciphers::new(keys)?, depth, job_bytes })
    }
}

impl Executor for Inline {
    type Bytes = Vec<u8>;

    fn depth(&self, _job_bytes: u64) -> usize {
        self.depth
    }

    fn job_bytes(&self) -> u64 {
        self.job_bytes
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<Decoded<Vec<u8>>>> {
        async move {
            let mut buffers = Buffers::default();
            let (loaded, read) = job.read(&self.files, &mut buffers).await?;
            let Outcome { runs, lost } = match loaded {
                Loaded::Input => Decoder::default().decode(&job, &mut buffers, &self.ciphers)?,
                Loaded::Output => Outcome::of_direct(&job, &buffers.output),
            };
            let written = runs.iter().map(|run| run.len as u64).sum();
            Ok(Decoded { output: Some((buffers.output, runs)), read, written, lost })
        }
        .boxed_local()
    }
}
