//! Argon2 (RFC 9106), version 1.3, in steps.

use super::argon2_block::{Block, long_hash};
use crate::{CryptError, SALT};
use blake2::{Blake2b512, Digest};
use zeroize::Zeroizing;

/// A variant of Argon2. The numbers are the specification's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argon2Kind {
    /// Argon2i.
    I = 1,
    /// Argon2id.
    Id = 2,
}

/// The parameters of Argon2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argon2 {
    /// The variant.
    pub kind: Argon2Kind,
    /// The number of passes, at least one.
    pub passes: u32,
    /// The memory in KiB: at least eight for each lane.
    pub memory: u32,
    /// The number of lanes: 1 to 2^24-1.
    pub lanes: u32,
}

const VERSION: u32 = 0x13;
/// The slices of a lane. Segments in one slice do not refer to each other.
const SLICES: usize = 4;
/// The length of the first hash.
const FIRST_HASH: usize = 64;

impl Argon2 {
    /// The number of blocks in a segment, the intersection of a slice and a lane.
    fn segment_len(self) -> usize {
        self.memory as usize / (SLICES * self.lanes as usize)
    }

    /// The number of blocks in memory.
    fn block_count(self) -> usize {
        self.segment_len() * SLICES * self.lanes as usize
    }

    /// The number of blocks that are computed in all passes.
    pub fn work(self) -> u64 {
        u64::from(self.passes) * self.block_count() as u64
    }

    /// H0 of the specification.
    fn first_hash(self, password: &[u8], salt: &[u8; SALT], key_len: usize) -> Zeroizing<[u8; FIRST_HASH]> {
        let mut hasher = Blake2b512::new();
        let numbers = [self.lanes, key_len as u32, self.memory, self.passes, VERSION, self.kind as u32];
        numbers.iter().for_each(|number| hasher.update(number.to_le_bytes()));
        // There is neither a secret nor associated data.
        for text in [password, salt, &[], &[]] {
            hasher.update((text.len() as u32).to_le_bytes());
            hasher.update(text);
        }
        Zeroizing::new(hasher.finalize().into())
    }
}

/// A segment in a pass.
#[derive(Clone, Copy)]
struct Segment {
    pass: usize,
    slice: usize,
    lane: usize,
}

/// A derivation by Argon2.
pub(super) struct Argon2Derivation {
    how: Argon2,
    first: Zeroizing<[u8; FIRST_HASH]>,
    memory: Zeroizing<Vec<Block>>,
    segment: Segment,
    /// The next block in the segment.
    next: usize,
    /// Positions that do not depend on data: for this block of the segment and the next ones.
    addresses: Block,
}

impl Argon2Derivation {
    /// Begins to derive a key of `key_len` bytes, 4 to 64. Fails if memory runs out.
    pub fn new(how: Argon2, password: &[u8], salt: &[u8; SALT], key_len: usize) -> Result<Self, CryptError> {
        let mut memory: Zeroizing<Vec<Block>> = Zeroizing::default();
        memory.try_reserve_exact(how.block_count()).map_err(|_| CryptError::OutOfMemory)?;
        let first = how.first_hash(password, salt, key_len);
        let segment = Segment { pass: 0, slice: 0, lane: 0 };
        Ok(Self { how, first, memory, segment, next: 0, addresses: Block::ZERO })
    }

    /// Computes up to `count` more blocks. Returns their number; 0 after the last one.
    pub fn step(&mut self, count: usize) -> usize {
        // Memory is filled with zeros in steps, too: a GiB takes long.
        let missing = self.how.block_count() - self.memory.len();
        if missing > 0 {
            let len = self.memory.len() + missing.min(count);
            self.memory.resize(len, Block::ZERO);
            return 0;
        }
        let mut done = 0;
        while done < count && !self.is_finished() {
            if self.next == self.how.segment_len() {
                self.begin_next_segment();
            } else {
                self.fill_next();
                done += 1;
            }
        }
        done
    }

    /// Whether all blocks are computed.
    pub fn is_finished(&self) -> bool {
        self.segment.pass == self.how.passes as usize
    }

    /// Writes the derived key.
    pub fn write_key(&self, key: &mut [u8]) {
        let lane_len = SLICES * self.how.segment_len();
        let mut last = Zeroizing::new(Block::ZERO);
        for block in self.memory.iter().skip(lane_len - 1).step_by(lane_len) {
            last.add(block);
        }
        long_hash(&[&last.to_bytes()[..]], key);
    }

    fn begin_next_segment(&mut self) {
        let Segment { pass, slice, lane } = &mut self.segment;
        self.next = 0;
        *lane += 1;
        if *lane == self.how.lanes as usize {
            *lane = 0;
            *slice += 1;
        }
        if *slice == SLICES {
            *slice = 0;
            *pass += 1;
        }
    }

    /// Computes the next block of the segment.
    fn fill_next(&mut self) {
        let (how, Segment { pass, slice, lane }, index) = (self.how, self.segment, self.next);
        self.next += 1;
        let lane_len = SLICES * how.segment_len();
        let position = slice * how.segment_len() + index;
        let at = lane * lane_len + position;
        if pass == 0 && position < 2 {
            let mut bytes = Zeroizing::new([0; Block::LEN]);
            let numbers = [position as u32, lane as u32].map(u32::to_le_bytes);
            long_hash(&[&self.first[..], &numbers[0], &numbers[1]], &mut bytes[..]);
            self.memory[at] = Block::from_bytes(&bytes);
            return;
        }
        let before = lane * lane_len + (position + lane_len - 1) % lane_len;
        let random = if self.is_independent_of_data() { self.address(index) } else { self.memory[before].0[0] };
        let block = self.memory[before].compress(&self.memory[self.reference(random, index)]);
        if pass == 0 {
            self.memory[at] = block;
        } else {
            self.memory[at].add(&block);
        }
    }

    /// Whether positions in the current segment do not depend on data.
    fn is_independent_of_data(&self) -> bool {
        let Segment { pass, slice, .. } = self.segment;
        self.how.kind == Argon2Kind::I || (pass == 0 && slice < SLICES / 2)
    }

    /// The random number for the block `index` of the segment if it does not depend on data.
    fn address(&mut self, index: usize) -> u64 {
        let Segment { pass, slice, lane } = self.segment;
        let is_first = index == 2 && pass == 0 && slice == 0;
        if is_first || index.is_multiple_of(Block::WORDS) {
            let mut input = Block::ZERO;
            let (passes, kind) = (self.how.passes as usize, self.how.kind as usize);
            let numbers = [pass, lane, slice, self.how.block_count(), passes, kind, index / Block::WORDS + 1];
            input.0.iter_mut().zip(numbers).for_each(|(word, number)| *word = number as u64);
            self.addresses = Block::ZERO.compress(&Block::ZERO.compress(&input));
        }
        self.addresses.0[index % Block::WORDS]
    }

    /// The position of the block that `random` selects for the block `index` of the segment: 3.4.2 of the specification.
    fn reference(&self, random: u64, index: usize) -> usize {
        let Segment { pass, slice, lane } = self.segment;
        let (segment_len, lanes) = (self.how.segment_len(), self.how.lanes as usize);
        let lane_len = SLICES * segment_len;
        let is_first_slice = pass == 0 && slice == 0;
        let selected = if is_first_slice { lane } else { (random >> 32) as usize % lanes };
        let complete = if pass == 0 { slice * segment_len } else { lane_len - segment_len };
        // In the same lane, the earlier blocks of this segment count, too, except for the previous one.
        let area = if selected == lane { complete + index - 1 } else { complete - usize::from(index == 0) };
        let low = random & u64::from(u32::MAX);
        let back = (area as u64 * ((low * low) >> 32)) >> 32;
        let start = if pass == 0 { 0 } else { (slice + 1) % SLICES * segment_len };
        selected * lane_len + (start + area - 1 - back as usize) % lane_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::argon2::{Algorithm, Params, Version};

    /// The key by the crate.
    fn expected(how: Argon2, password: &[u8], salt: &[u8], key_len: usize) -> Vec<u8> {
        let algorithm = match how.kind {
            Argon2Kind::I => Algorithm::Argon2i,
            Argon2Kind::Id => Algorithm::Argon2id,
        };
        let params = Params::new(how.memory, how.passes, how.lanes, Some(key_len)).unwrap();
        let mut key = vec![0; key_len];
        let context = ::argon2::Argon2::new(algorithm, Version::V0x13, params);
        context.hash_password_into(password, salt, &mut key).unwrap();
        key
    }

    /// The key in steps of `count` blocks, whose number is checked.
    fn in_steps(how: Argon2, password: &[u8], salt: &[u8; SALT], key_len: usize, count: usize) -> Vec<u8> {
        let mut derivation = Argon2Derivation::new(how, password, salt, key_len).unwrap();
        let mut done = 0;
        while !derivation.is_finished() {
            let blocks = derivation.step(count);
            assert!(blocks <= count);
            done += blocks as u64;
        }
        assert_eq!(done, how.work());
        let mut key = vec![0; key_len];
        derivation.write_key(&mut key);
        key
    }

    #[test]
    fn as_the_crate_derives() {
        let salt = std::array::from_fn(|at| at as u8);
        // (passes, memory, lanes, length of the key)
        let rows = [
            (1, 8, 1, 32),
            (1, 9, 1, 4),
            (3, 32, 4, 64),
            (2, 100, 3, 16),
            (1, 600, 1, 33),
            (3, 2100, 2, 64),
            (4, 4096, 1, 32),
            (2, 1500, 5, 63),
        ];
        for kind in [Argon2Kind::I, Argon2Kind::Id] {
            for (passes, memory, lanes, key_len) in rows {
                let how = Argon2 { kind, passes, memory, lanes };
                for password in [&b"secret"[..], &[], &[7; 200]] {
                    let expected = expected(how, password, &salt, key_len);
                    for count in [1, 129, usize::MAX] {
                        assert!(in_steps(how, password, &salt, key_len, count) == expected, "{how:?} by {count}");
                    }
                }
            }
        }
    }
}
