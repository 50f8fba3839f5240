//! Sources and targets by `std::fs`, and a hasher on the calling thread.

use decant::convert::DiskHasher;
use decant::io::target::{Abilities, Run, Target, TargetHandle};
use decant::offsets::HostOffset;
use decant::{Error, ErrorKind, Result, Source};
use decant_crypt::{CryptError, Hash, Hasher, SHA256};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A file as a source.
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

/// A file as a target, with sparse holes.
pub struct FileTarget(File);

impl FileTarget {
    /// Writes to `file`, which must be empty.
    pub fn new(file: File) -> Self {
        Self(file)
    }
}

fn failed(cause: std::io::Error) -> Error {
    Error::new(ErrorKind::Target, format!("Could not write the output: {cause}"))
}

impl TargetHandle<Vec<u8>> for FileTarget {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        let write = |run: &Run| self.0.write_all_at(&bytes[run.start..run.start + run.len], run.offset);
        ready(runs.iter().try_for_each(write).map_err(failed)).boxed_local()
    }
}

impl Target<Vec<u8>> for FileTarget {
    fn abilities(&self) -> Abilities {
        Abilities { late_start: u64::MAX, ..Abilities::default() }
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        ready(size.map_or(Ok(()), |size| self.0.set_len(size)).map_err(failed)).boxed_local()
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        // An empty file does not look complete.
        let _ = self.0.set_len(0);
        ready(()).boxed_local()
    }
}

/// Hashes disks on the calling thread.
pub struct InlineHasher(RefCell<Hasher>);

impl InlineHasher {
    /// Begins with the first disk. Fails with `internal` if memory runs out.
    pub fn new() -> Result<Self> {
        Ok(Self(RefCell::new(Hasher::new(Hash::Sha256)?)))
    }
}

impl DiskHasher<Vec<u8>> for InlineHasher {
    fn add<'a>(&'a self, bytes: &'a Vec<u8>, start: usize, len: usize) -> LocalBoxFuture<'a, Result<()>> {
        let added = self.0.borrow_mut().add(&bytes[start..start + len]);
        ready(added.map_err(Error::from)).boxed_local()
    }

    fn add_zeros(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        let zeros = [0; 1 << 16];
        let mut hasher = self.0.borrow_mut();
        let mut add = |at: u64| hasher.add(&zeros[..zeros.len().min((len - at) as usize)]);
        let added: std::result::Result<(), CryptError> = (0..len).step_by(zeros.len()).try_for_each(&mut add);
        ready(added.map_err(Error::from)).boxed_local()
    }

    fn end(&self) -> Result<[u8; SHA256]> {
        let mut hash = [0; SHA256];
        self.0.replace(Hasher::new(Hash::Sha256)?).hash(&mut hash)?;
        Ok(hash)
    }
}
