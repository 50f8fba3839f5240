//! Finds the key of a LUKS volume by a password, in steps of some milliseconds.

use super::{Fault, Kdf, KeySlot, Luks, Read, cipher_spec, hash_by_name, read};
use crate::direct::argon2::Argon2Derivation;
use crate::direct::derivation::Derivation;
use crate::direct::hash::{Hasher, LONGEST_HASH};
use crate::direct::platform::derive;
use crate::direct::sector_cipher::SectorCipher;
use crate::{Answer, CipherSpec, CryptError, Hash, SALT, SECTOR};
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// Maximum number of iterations for all key slots together: about two minutes. QEMU and cryptsetup choose a few million,
/// for one or two seconds.
const MAX_ITERATIONS: u64 = 200_000_000;
/// Iterations of PBKDF2 that take as long as a block of 1 KiB of Argon2.
const ITERATIONS_OF_BLOCK: u64 = 2;
/// Maximum memory for Argon2, in KiB: cryptsetup's default maximum.
const MAX_MEMORY: u32 = 1 << 20;
/// Iterations in a step: about 10 ms.
const STEP: u64 = 8192;
/// Blocks of Argon2 in a step: about 50 ms. A pause between steps takes some, and a GiB in four passes has 4 million blocks.
const BLOCKS_STEP: usize = 1 << 15;
/// The most iterations of a derivation by the platform, which cannot stop before its end: some seconds, and more than programs
/// choose by default.
const MOST_BY_PLATFORM: u64 = 1 << 25;

/// The search for the key.
pub struct Unlocking {
    start: Vec<u8>,
    len: usize,
    password: Zeroizing<Vec<u8>>,
    /// Set by the first step.
    work: Option<Work>,
}

impl Unlocking {
    /// Begins with the header at `start`, see [`read`], and a password. Fails if memory runs out.
    pub fn new(start: &[u8], len: usize, password: &[u8]) -> Result<Self, CryptError> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(start.len()).map_err(|_| CryptError::OutOfMemory)?;
        copy.extend_from_slice(start);
        Ok(Self { start: copy, len, password: Zeroizing::new(password.to_vec()), work: None })
    }

    /// Does the next step, with the bytes that the last answer needed as `input`. Encodes an answer in `output`, and
    /// returns its length: a failure, how much is done, which bytes are needed, or the encoded key. Never fails.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, CryptError> {
        let work = match &mut self.work {
            Some(work) => work,
            None => match read(&self.start, self.len).and_then(Work::new) {
                Ok(work) => self.work.insert(work),
                Err(fault) => return Ok(fault.answer().encode(output)),
            },
        };
        Ok(match &work.step(&self.password, input) {
            // If the platform fails, its iterations are done again.
            Ok(Step::Busy) => Answer::Busy(work.done.min(work.total), work.total),
            Ok(Step::Needs(offset, len)) => Answer::Needs(*offset, *len as u64),
            Ok(Step::Found(key)) => Answer::Found(key),
            Ok(Step::Wrong) => Answer::WrongPassword,
            Err(fault) => fault.answer(),
        }
        .encode(output))
    }
}

/// The result of a step.
enum Step {
    Busy,
    Needs(u64, usize),
    /// The encoded key.
    Found(Zeroizing<Vec<u8>>),
    Wrong,
}

/// The task for the first of the remaining key slots.
#[expect(clippy::large_enum_variant, reason = "the allocation of a box could fail; it is moved once a step")]
enum SlotTask {
    Derive(Deriving),
    DeriveByArgon2(Argon2Derivation),
    /// Decrypt and merge the key material with this derived key.
    Material(Zeroizing<Vec<u8>>),
    /// Compare the digest of this key.
    Check(Zeroizing<Vec<u8>>, Deriving),
}

/// A derivation by PBKDF2.
struct Deriving {
    hash: Hash,
    salt: [u8; SALT],
    iterations: u32,
    /// The derived key. Only its first `filled` bytes are known.
    key: Zeroizing<Vec<u8>>,
    filled: usize,
    /// The block in work, and its remaining iterations.
    block: Option<(Derivation, u32)>,
    /// How much the platform has done, in thousandths; `None` if it cannot.
    by_platform: Option<u16>,
}

struct Work {
    luks: Luks,
    spec: CipherSpec,
    slots: VecDeque<KeySlot>,
    task: Option<SlotTask>,
    done: u64,
    total: u64,
}

impl Work {
    fn new(mut luks: Luks) -> Read<Self> {
        let spec = CipherSpec { sector: luks.sector, iv_offset: luks.iv_offset, ..cipher_spec(&luks.cipher)? };
        let slots: VecDeque<_> = std::mem::take(&mut luks.slots).into_iter().filter(|slot| slot.active).collect();
        let of_digest = pbkdf2_work(&luks.digest.hash, luks.digest.iterations, luks.digest.value.len())?;
        let mut total = 0;
        for slot in &slots {
            total += kdf_work(&slot.kdf, slot.derived_len)? + of_digest;
        }
        if total > MAX_ITERATIONS {
            let what = format!("{total} iterations to check a password, more than {MAX_ITERATIONS}");
            return Err(Fault::Limit(0, what));
        }
        Ok(Self { luks, spec, slots, task: None, done: 0, total })
    }

    fn step(&mut self, password: &[u8], input: &[u8]) -> Read<Step> {
        let Some(slot) = self.slots.front() else { return Ok(Step::Wrong) };
        match self.task.take() {
            None => {
                let derivation = slot.derivation(password)?;
                self.continue_with(derivation)
            }
            Some(SlotTask::DeriveByArgon2(derivation)) => self.derive_by_argon2(derivation),
            Some(SlotTask::Derive(mut deriving)) => {
                self.done += deriving.step(password);
                match deriving.finished() {
                    Some(key) => self.need_material(key),
                    None => self.continue_with(SlotTask::Derive(deriving)),
                }
            }
            Some(SlotTask::Material(derived)) => {
                let key = open(&self.luks, slot, &derived, input)?;
                let digest = &self.luks.digest;
                let sum = Zeroizing::new(vec![0; digest.value.len()]);
                let deriving = Deriving::new(hash_by_name(&digest.hash)?, digest.salt, digest.iterations, sum);
                self.continue_with(SlotTask::Check(key, deriving))
            }
            Some(SlotTask::Check(key, deriving)) => self.check(key, deriving),
        }
    }

    fn derive_by_argon2(&mut self, mut derivation: Argon2Derivation) -> Read<Step> {
        self.done += derivation.step(BLOCKS_STEP) as u64 * ITERATIONS_OF_BLOCK;
        if !derivation.is_finished() {
            return self.continue_with(SlotTask::DeriveByArgon2(derivation));
        }
        let mut key = Zeroizing::new(vec![0; self.slots[0].derived_len]);
        derivation.write_key(&mut key);
        self.need_material(key)
    }

    /// Continues to compute the digest of `key`. If it is not the one in the header, the next key slot follows.
    fn check(&mut self, key: Zeroizing<Vec<u8>>, mut deriving: Deriving) -> Read<Step> {
        self.done += deriving.step(&key);
        match deriving.finished() {
            Some(sum) if *sum == self.luks.digest.value => {
                new_cipher(self.spec, &key)?;
                Ok(Step::Found(Zeroizing::new(self.spec.with_key(&key))))
            }
            Some(_) => {
                self.slots.pop_front();
                Ok(Step::Busy)
            }
            None => self.continue_with(SlotTask::Check(key, deriving)),
        }
    }

    fn continue_with(&mut self, task: SlotTask) -> Read<Step> {
        self.task = Some(task);
        Ok(Step::Busy)
    }

    fn need_material(&mut self, derived: Zeroizing<Vec<u8>>) -> Read<Step> {
        self.task = Some(SlotTask::Material(derived));
        let slot = &self.slots[0];
        Ok(Step::Needs(slot.offset, split_len(&self.luks, slot).next_multiple_of(SECTOR)))
    }
}

impl KeySlot {
    /// Begins to derive the key that encrypts the key material.
    fn derivation(&self, password: &[u8]) -> Read<SlotTask> {
        Ok(match &self.kdf {
            Kdf::Pbkdf2 { hash, iterations } => {
                let key = Zeroizing::new(vec![0; self.derived_len]);
                SlotTask::Derive(Deriving::new(hash_by_name(hash)?, self.salt, *iterations, key))
            }
            Kdf::Argon2(how) => {
                let derivation = Argon2Derivation::new(*how, password, &self.salt, self.derived_len);
                SlotTask::DeriveByArgon2(derivation.map_err(|_| Fault::OutOfMemory(u64::from(how.memory) << 10))?)
            }
        })
    }
}

/// The length of the split key.
fn split_len(luks: &Luks, slot: &KeySlot) -> usize {
    luks.key_len * slot.stripes as usize
}

/// Decrypts and merges the key in `material` of `slot`.
fn open(luks: &Luks, slot: &KeySlot, derived: &[u8], material: &[u8]) -> Read<Zeroizing<Vec<u8>>> {
    let cipher = new_cipher(cipher_spec(&slot.cipher)?, derived)?;
    let mut split = Zeroizing::new(vec![0; material.len()]);
    cipher.decrypt(0, material, &mut split)?;
    let mut key = Zeroizing::new(vec![0; luks.key_len]);
    merge(hash_by_name(&slot.hash)?, &split[..split_len(luks, slot)], &mut key)?;
    Ok(key)
}

fn new_cipher(spec: CipherSpec, key: &[u8]) -> Read<SectorCipher> {
    SectorCipher::new(&spec.with_key(key)).map_err(|error| match error {
        CryptError::OutOfMemory => error.into(),
        CryptError::UnsupportedKey => {
            let bits = key.len() * 8;
            Fault::Unsupported("LUKS with a key of the wrong length for its cipher:", format!("{bits} bits"))
        }
    })
}

impl Deriving {
    fn new(hash: Hash, salt: [u8; SALT], iterations: u32, key: Zeroizing<Vec<u8>>) -> Self {
        let mut new = Self { hash, salt, iterations, key, filled: 0, block: None, by_platform: None };
        new.by_platform = (new.total() <= MOST_BY_PLATFORM).then_some(0);
        new
    }

    /// Does some iterations for `password`. Returns their number.
    fn step(&mut self, password: &[u8]) -> u64 {
        if let Some(before) = self.by_platform {
            self.by_platform = derive(self.hash, password, &self.salt, self.iterations, &mut self.key);
            if let Some(thousandths) = self.by_platform {
                if thousandths == 1000 {
                    self.filled = self.key.len();
                }
                let done = |thousandths: u16| self.total() * u64::from(thousandths) / 1000;
                return done(thousandths).saturating_sub(done(before));
            }
        }
        self.own_step(password)
    }

    /// The number of iterations for all blocks.
    fn total(&self) -> u64 {
        u64::from(self.iterations) * self.key.len().div_ceil(self.hash.output_len()) as u64
    }

    /// As [`Self::step`], up to [`STEP`] iterations without the platform.
    fn own_step(&mut self, password: &[u8]) -> u64 {
        let len = self.hash.output_len();
        let (mut block, left) = match self.block.take() {
            Some(block) => block,
            None => {
                let number = self.filled / len + 1;
                (Derivation::new(self.hash, password, &self.salt, number as u32), self.iterations)
            }
        };
        // The first iteration is that of `new`.
        let some = u64::from(left).min(STEP) as u32;
        let is_first = left == self.iterations;
        block.iterate(some - u32::from(is_first));
        if some < left {
            self.block = Some((block, left - some));
        } else {
            let end = self.key.len().min(self.filled + len);
            block.block(&mut self.key[self.filled..end]);
            self.filled = end;
        }
        some.into()
    }

    /// The key, if it is complete.
    fn finished(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        (self.filled == self.key.len()).then(|| std::mem::take(&mut self.key))
    }
}

fn pbkdf2_work(hash: &str, iterations: u32, len: usize) -> Read<u64> {
    Ok(u64::from(iterations) * len.div_ceil(hash_by_name(hash)?.output_len()) as u64)
}

/// The number of iterations for a key of `len` bytes, by PBKDF2 or as long as Argon2 takes.
fn kdf_work(kdf: &Kdf, len: usize) -> Read<u64> {
    match kdf {
        Kdf::Pbkdf2 { hash, iterations } => pbkdf2_work(hash, *iterations, len),
        Kdf::Argon2(how) if how.memory <= MAX_MEMORY => Ok(how.work() * ITERATIONS_OF_BLOCK),
        Kdf::Argon2(how) => {
            let size = u64::from(how.memory) << 10;
            Err(Fault::Limit(size, format!("{size} bytes of memory to check a password, more than 1 GiB")))
        }
    }
}

/// Reverses the anti-forensic splitting of a key ("LUKS On-Disk Format", version 1.2): writes the key that `split` has in
/// stripes to `key`, which is as long as a stripe. Fails if memory runs out.
fn merge(hash: Hash, split: &[u8], key: &mut [u8]) -> Result<(), CryptError> {
    let stripes = split.len() / key.len();
    key.fill(0);
    for (number, stripe) in (1..).zip(split.chunks_exact(key.len())) {
        key.iter_mut().zip(stripe).for_each(|(byte, other)| *byte ^= other);
        if number < stripes {
            diffuse(hash, key)?;
        }
    }
    Ok(())
}

fn diffuse(hash: Hash, key: &mut [u8]) -> Result<(), CryptError> {
    let mut hashed = Zeroizing::new([0; LONGEST_HASH]);
    let hashed = &mut hashed[..hash.output_len()];
    for (number, part) in (0u32..).zip(key.chunks_mut(hash.output_len())) {
        let mut hasher = Hasher::new(hash)?;
        hasher.add(&number.to_be_bytes())?;
        hasher.add(part)?;
        hasher.hash(hashed)?;
        part.copy_from_slice(&hashed[..part.len()]);
    }
    Ok(())
}
