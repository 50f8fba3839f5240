//! The digest of fs-verity (Documentation/filesystems/fsverity.rst of Linux), with SHA-256, blocks of 4 KiB and no salt. It is the hash of a
//! descriptor with the root of a tree. A block of the tree has the hashes of up to 128 blocks of the level below, whose lowest one
//! is the disk. A hash does not depend on the position, so each level has one hash for zeros.

use super::DigestData;
use crate::compress::GuestRun;
use crate::error::{Error, Result};
use crate::io::source::zeroed;
use crate::io::target::OutputBytes;
use decant_crypt::{HASHED_BLOCK, Hash, Hasher, SHA256, hash_blocks};

/// How many hashes a block of the tree has.
const HASHES: u64 = (HASHED_BLOCK / SHA256) as u64;
/// The size of the descriptor, the positions of its fields, and their values: SHA-256, and 4 KiB as a power of 2.
const DESCRIPTOR: usize = 256;
const VERSION: (usize, u8) = (0, 1);
const ALGORITHM: (usize, u8) = (1, 1);
const BLOCK_SIZE: (usize, u8) = (2, 12);
const SIZE_AT: usize = 8;
const ROOT_AT: usize = 16;

type Sha256 = [u8; SHA256];

/// Hashes the blocks of `runs` of `bytes`. Each run begins at a block. Fails with `internal` if memory runs out.
pub(in crate::convert) fn block_hashes(bytes: &[u8], runs: &[GuestRun]) -> Result<DigestData<Vec<u8>>> {
    let blocks: usize = runs.iter().map(|run| run.len.div_ceil(HASHED_BLOCK)).sum();
    let mut hashes = zeroed(blocks * SHA256)?;
    let mut hashed = Vec::new();
    hashed.try_reserve_exact(runs.len()).map_err(|_| Error::out_of_memory(size_of_val(runs)))?;
    let mut start = 0;
    for run in runs {
        let end = start + run.len.div_ceil(HASHED_BLOCK) * SHA256;
        hash_blocks(&bytes[run.start..run.start + run.len], &mut hashes[start..end])?;
        hashed.push(GuestRun { start, ..*run });
        start = end;
    }
    Ok((hashes, hashed))
}

/// The tree of a disk, of which only the incomplete block of each level is kept.
pub(super) struct FsVerity {
    /// The hashes of blocks of the disk, then the hashes of those.
    levels: Vec<Level>,
}

struct Level {
    /// The hash of the block below if the disk is all zeros there.
    zero: Sha256,
    /// The hashes that are not in a complete block.
    block: Vec<u8>,
    /// How many hashes there were so far.
    count: u64,
}

impl FsVerity {
    pub(super) fn new() -> Result<Self> {
        let lowest = Level::new(hash(&[&[0; HASHED_BLOCK]])?)?;
        Ok(Self { levels: vec![lowest] })
    }

    /// Adds the data of `run`, whose hashes are in `hashes` from `run.start` on. The data so far must end at a block.
    pub(super) fn add<B: OutputBytes>(&mut self, hashes: &B, run: &GuestRun) -> Result<()> {
        for number in 0..run.len.div_ceil(HASHED_BLOCK) {
            let mut hash = [0; SHA256];
            hashes.copy(run.start + number * SHA256, &mut hash);
            self.push(0, hash)?;
        }
        Ok(())
    }

    /// Adds `len` zeros, which end at a block unless the disk ends there.
    pub(super) fn add_zeros(&mut self, len: u64) -> Result<()> {
        self.push_zeros(0, len.div_ceil(HASHED_BLOCK as u64))
    }

    /// Returns the digest of a disk of `size` bytes, all of which were added.
    pub(super) fn end(&mut self, size: u64) -> Result<Sha256> {
        let mut descriptor = [0; DESCRIPTOR];
        for (at, value) in [VERSION, ALGORITHM, BLOCK_SIZE] {
            descriptor[at] = value;
        }
        descriptor[SIZE_AT..SIZE_AT + 8].copy_from_slice(&size.to_le_bytes());
        descriptor[ROOT_AT..ROOT_AT + SHA256].copy_from_slice(&self.root()?);
        hash(&[&descriptor])
    }

    /// The hash of the only block of the highest level; zeros if the disk has no bytes.
    fn root(&mut self) -> Result<Sha256> {
        if self.levels[0].count == 0 {
            return Ok([0; SHA256]);
        }
        let mut level = 0;
        while self.levels[level].count > 1 {
            self.complete(level)?;
            level += 1;
        }
        Ok(self.levels[level].block[..].try_into().expect("one hash"))
    }

    /// Adds a hash to a level.
    fn push(&mut self, level: usize, hash: Sha256) -> Result<()> {
        self.require(level)?;
        let Level { block, count, .. } = &mut self.levels[level];
        block.extend_from_slice(&hash);
        *count += 1;
        if block.len() == HASHED_BLOCK { self.complete(level) } else { Ok(()) }
    }

    /// Adds `count` hashes of zeros to a level, whole blocks of them without hashing.
    fn push_zeros(&mut self, level: usize, count: u64) -> Result<()> {
        self.require(level)?;
        let mut rest = count;
        let zero = self.levels[level].zero;
        while rest > 0 && !self.levels[level].block.is_empty() {
            self.push(level, zero)?;
            rest -= 1;
        }
        let blocks = rest / HASHES;
        if blocks > 0 {
            self.levels[level].count += blocks * HASHES;
            self.push_zeros(level + 1, blocks)?;
        }
        for _ in 0..rest % HASHES {
            self.push(level, zero)?;
        }
        Ok(())
    }

    /// Hashes the block of a level, if it has begun, with zeros after its hashes.
    fn complete(&mut self, level: usize) -> Result<()> {
        let block = &mut self.levels[level].block;
        if block.is_empty() {
            return Ok(());
        }
        let hash = hash(&[block, &[0; HASHED_BLOCK][block.len()..]])?;
        block.clear();
        self.push(level + 1, hash)
    }

    /// Adds a level if it is not there. The one below it must be.
    fn require(&mut self, level: usize) -> Result<()> {
        if level == self.levels.len() {
            let Level { zero, .. } = self.levels[level - 1];
            self.levels.push(Level::new(hash(&[&zero; HASHES as usize].map(|zero| &zero[..]))?)?);
        }
        Ok(())
    }
}

impl Level {
    fn new(zero: Sha256) -> Result<Self> {
        let mut block = Vec::new();
        block.try_reserve_exact(HASHED_BLOCK).map_err(|_| Error::out_of_memory(HASHED_BLOCK))?;
        Ok(Self { zero, block, count: 0 })
    }
}

/// The SHA-256 of `parts`, one after another.
fn hash(parts: &[&[u8]]) -> Result<Sha256> {
    let mut hasher = Hasher::new(Hash::Sha256)?;
    for part in parts {
        hasher.add(part)?;
    }
    let mut hash = [0; SHA256];
    hasher.hash(&mut hash)?;
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::GuestOffset;
    use std::process::Command;

    /// Returns the output of `fsverity digest` for a file with these bytes.
    fn by_fsverity(bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let made = Command::new("fsverity").args(["digest", "--compact"]).arg(file.path()).output();
        let made = made.expect("fsverity is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    fn hex(hash: Sha256) -> String {
        crate::disk::reference::hexadecimal(&hash)
    }

    /// Digests `bytes`, of which `data` are parts with data, from their start to their end; the rest is zeros.
    fn digest(bytes: &[u8], data: &[(usize, usize)]) -> String {
        let mut tree = FsVerity::new().unwrap();
        let mut at = 0;
        for &(start, end) in data {
            tree.add_zeros((start - at) as u64).unwrap();
            let run = GuestRun { guest: GuestOffset(start as u64), start, len: end - start };
            let (hashes, runs) = block_hashes(bytes, &[run]).unwrap();
            tree.add(&hashes, &runs[0]).unwrap();
            at = end;
        }
        tree.add_zeros((bytes.len() - at) as u64).unwrap();
        hex(tree.end(bytes.len() as u64).unwrap())
    }

    #[test]
    fn digests_are_those_of_fsverity() {
        const KIB: usize = 1 << 10;
        // A level is complete with 512 KiB, and the next one with 64 MiB.
        let sizes = [0, 512 * KIB, (64 << 10) * KIB]
            .into_iter()
            .flat_map(|size: usize| [size.saturating_sub(1), size, size + 1]);
        let small = [512, 4095, 4096, 4097, 8191, 8192, 8193, 5000 * KIB];
        for size in sizes.chain(small) {
            let zeros = vec![0; size];
            assert_eq!(digest(&zeros, &[]), by_fsverity(&zeros), "{size} zeros");
            let bytes: Vec<_> = (0..size as u64).map(|at| (at * at / 7 + at / 4096) as u8).collect();
            assert_eq!(digest(&bytes, &[(0, size)]), by_fsverity(&bytes), "{size} bytes");
            // Zeros as data, and as holes at the start, in the middle and at the end.
            let mut sparse = zeros;
            let parts = [(4, 8), (300, 304), (600, 2000), (4096, 4100)].map(|(start, end)| (start * KIB, end * KIB));
            let data: Vec<_> = parts.into_iter().filter(|part| part.1 <= size).collect();
            for &(start, end) in &data {
                sparse[start..end].copy_from_slice(&bytes[start..end]);
            }
            let expected = by_fsverity(&sparse);
            assert_eq!(digest(&sparse, &data), expected, "{size} bytes with holes");
            assert_eq!(digest(&sparse, &[(0, size)]), expected, "{size} bytes, of which many are zero");
        }
    }

    /// Each level of 8 TiB of zeros, computed from the one below: 2^31 blocks of the disk, and 8 hashes in the highest block.
    #[test]
    fn zeros_take_no_time() {
        let mut root = hash(&[&[0; HASHED_BLOCK]]).unwrap();
        for hashes in [128, 128, 128, 128, 8] {
            let mut block = root.repeat(hashes);
            block.resize(HASHED_BLOCK, 0);
            root = hash(&[&block]).unwrap();
        }
        let mut descriptor = [0; DESCRIPTOR];
        descriptor[..3].copy_from_slice(&[1, 1, 12]);
        descriptor[8..16].copy_from_slice(&(8u64 << 40).to_le_bytes());
        descriptor[16..48].copy_from_slice(&root);
        let mut tree = FsVerity::new().unwrap();
        tree.add_zeros(8 << 40).unwrap();
        assert_eq!(tree.end(8 << 40).unwrap(), hash(&[&descriptor]).unwrap());
        // The largest disk.
        let mut tree = FsVerity::new().unwrap();
        tree.add_zeros(u64::MAX >> 1).unwrap();
        tree.end(u64::MAX >> 1).unwrap();
    }
}
