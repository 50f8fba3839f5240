//! Digests of disks, computed while the disks are converted. They are digests of what the image has: without the zeros that an output
//! adds, and with the image's own bytes where an output has others.

mod fs_verity;

pub(super) use fs_verity::block_hashes;

use super::gpt::Patch;
use super::turns::Turns;
use crate::compress::{EncodedPart, GuestRun, Placement, is_zero};
use crate::disk::reference::hexadecimal;
use crate::error::{Error, ErrorKind, Result};
use crate::io::target::OutputBytes;
use crate::offsets::{GuestOffset, GuestRange};
use decant_crypt::SHA256;
use fs_verity::FsVerity;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize, Serializer};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A digest of each disk of a conversion.
pub enum Digest<'a, B> {
    /// The SHA-256 of its bytes, by this hasher.
    Sha256(&'a dyn DiskHasher<B>),
    /// The digest of fs-verity, which hashes a tree of blocks. Jobs return hashes, and no data is written to the target.
    FsVerity,
}

// Not derived: `B` need not be `Copy`.
impl<B> Clone for Digest<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Digest<'_, B> {}

/// Computes the SHA-256 of a disk, whose bytes it gets in ascending order. Calls do not overlap.
pub trait DiskHasher<B> {
    /// Adds `len` bytes from `start`.
    fn add<'a>(&'a self, bytes: &'a B, start: usize, len: usize) -> LocalBoxFuture<'a, Result<()>>;

    /// Adds `len` zeros.
    fn add_zeros(&self, len: u64) -> LocalBoxFuture<'_, Result<()>>;

    /// Returns the hash of all bytes, and begins that of the next disk.
    fn end(&self) -> Result<[u8; SHA256]>;
}

/// The digest of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DiskDigest {
    /// The digest. Serialised in hexadecimal digits.
    #[serde(serialize_with = "in_hexadecimal")]
    pub hash: [u8; SHA256],
    /// The size of the image's disk in bytes: all of it was digested.
    pub size: u64,
}

fn in_hexadecimal<S: Serializer>(hash: &[u8], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&hexadecimal(hash))
}

/// The part of a job's result that the digest of the disk needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Digested {
    #[default]
    Nothing,
    /// Its decoded data.
    Data,
    /// The hashes of its blocks, instead of an output.
    Blocks,
}

impl<B> Digest<'_, B> {
    pub(super) fn of_jobs(self) -> Digested {
        match self {
            Self::Sha256(_) => Digested::Data,
            Self::FsVerity => Digested::Blocks,
        }
    }
}

/// The bytes that a job has returned for the digest, and the ascending guest runs whose data, or whose hashes, they are.
pub(crate) type DigestData<B> = (B, Vec<GuestRun>);

/// The data of an output that is not encoded.
pub(super) fn runs_of(placement: &Placement) -> Vec<GuestRun> {
    match placement {
        Placement::Runs(runs) => runs.clone(),
        Placement::Parts(parts) => {
            let run = |part: &EncodedPart| GuestRun { guest: part.guest, start: part.start, len: part.encoded_len };
            parts.iter().map(run).collect()
        }
    }
}

/// The digest of one disk. Jobs add their parts of the disk in any order; each waits for its turn.
pub(super) struct Digester<'a, B> {
    hash: DigestState<'a, B>,
    turns: Turns,
    /// Everything before this guest offset is in the digest.
    at: Cell<u64>,
    /// The size of the image's disk in bytes. If it is not known before, it is known when the first job after the end is run.
    size: Box<dyn Fn() -> Option<u64>>,
    /// The image's bytes of the ranges that are rewritten, ascending.
    originals: Rc<RefCell<Vec<Patch>>>,
}

enum DigestState<'a, B> {
    Sha256(&'a dyn DiskHasher<B>),
    FsVerity(RefCell<FsVerity>),
}

impl<'a, B: OutputBytes> Digester<'a, B> {
    /// Digests a disk whose rewritten ranges have the bytes `originals` in the image. Fails with `internal` if memory runs out.
    pub(super) fn new(
        digest: Digest<'a, B>,
        size: Box<dyn Fn() -> Option<u64>>,
        originals: Rc<RefCell<Vec<Patch>>>,
    ) -> Result<Self> {
        let hash = match digest {
            Digest::Sha256(hasher) => DigestState::Sha256(hasher),
            Digest::FsVerity => DigestState::FsVerity(RefCell::new(FsVerity::new()?)),
        };
        Ok(Self { hash, turns: Turns::default(), at: Cell::new(0), size, originals })
    }

    /// Adds the guest range `region`, which job number `index` accounts for. What `data` has no run for is zeros.
    pub(super) async fn add(&self, index: u64, region: GuestRange, data: Option<(&B, &[GuestRun])>) -> Result<()> {
        self.turns.wait(index).await;
        if let Some((bytes, runs)) = data {
            for run in runs {
                self.add_zeros(run.guest).await?;
                self.add_run(bytes, run).await?;
            }
        }
        self.add_zeros(region.end).await?;
        self.turns.pass(index);
        Ok(())
    }

    /// Ends the disk. Fails with `internal` if the jobs have left out a part of it.
    pub(super) fn end(&self) -> Result<DiskDigest> {
        let size = self.at.get();
        if (self.size)() != Some(size) {
            return Err(Error::new(ErrorKind::Internal, "A part of the disk is missing in its digest"));
        }
        let hash = match &self.hash {
            DigestState::Sha256(hasher) => hasher.end()?,
            DigestState::FsVerity(tree) => tree.borrow_mut().end(size)?,
        };
        Ok(DiskDigest { hash, size })
    }

    async fn add_run(&self, bytes: &B, run: &GuestRun) -> Result<()> {
        match &self.hash {
            DigestState::FsVerity(tree) => {
                tree.borrow_mut().add(bytes, run)?;
                self.at.set(self.clipped(run.end()));
                Ok(())
            }
            DigestState::Sha256(hasher) => {
                while let Some((end, original)) = self.next(run.end()) {
                    let at = self.at.get();
                    let start = run.start + (at - run.guest.0) as usize;
                    match original {
                        Some(original) => self.add_original(*hasher, &original).await?,
                        None => hasher.add(bytes, start, (end - at) as usize).await?,
                    }
                    self.at.set(end);
                }
                Ok(())
            }
        }
    }

    /// Adds zeros up to `end`.
    async fn add_zeros(&self, end: GuestOffset) -> Result<()> {
        match &self.hash {
            DigestState::FsVerity(tree) => {
                let end = self.clipped(end);
                tree.borrow_mut().add_zeros(end.saturating_sub(self.at.get()))?;
                self.at.set(end.max(self.at.get()));
                Ok(())
            }
            DigestState::Sha256(hasher) => {
                while let Some((end, original)) = self.next(end) {
                    match original {
                        Some(original) => self.add_original(*hasher, &original).await?,
                        None => hasher.add_zeros(end - self.at.get()).await?,
                    }
                    self.at.set(end);
                }
                Ok(())
            }
        }
    }

    async fn add_original(&self, hasher: &dyn DiskHasher<B>, bytes: &[u8]) -> Result<()> {
        if is_zero(bytes) {
            hasher.add_zeros(bytes.len() as u64).await
        } else {
            hasher.add(&B::from(bytes), 0, bytes.len()).await
        }
    }

    /// `end`, or the end of the image's disk if that is less.
    fn clipped(&self, GuestOffset(end): GuestOffset) -> u64 {
        (self.size)().map_or(end, |size| end.min(size))
    }

    /// The next part before `end` that is not in the digest: where it ends, and the image's bytes if the output has others. `None` if
    /// everything before `end` is.
    fn next(&self, end: GuestOffset) -> Option<(u64, Option<Vec<u8>>)> {
        let (at, end) = (self.at.get(), self.clipped(end));
        if at >= end {
            return None;
        }
        let originals = self.originals.borrow();
        Some(match originals.iter().find(|original| original.end() > at) {
            Some(original) if original.start <= at => {
                let end = end.min(original.end());
                let bytes = &original.bytes[(at - original.start) as usize..(end - original.start) as usize];
                (end, Some(bytes.to_vec()))
            }
            Some(original) => (end.min(original.start), None),
            None => (end, None),
        })
    }
}
