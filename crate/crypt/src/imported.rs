//! By the module.

use crate::{AT_ONCE, Creation, CryptError, CryptRequest, Hash, MODULE, Operation, SECTOR};
use decant_module::SeparateInstance;
pub use decant_module::settled;
use std::cell::Cell;
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// An object in the instance of this thread.
struct Object {
    number: u32,
    is_of_this_thread: PhantomData<*const ()>,
}

impl Object {
    fn new(creation: Creation, secret: &[u8]) -> Result<Self, CryptError> {
        let mut number = [0; 4];
        MODULE.serve(CryptRequest::Create(creation), secret, &mut number)?;
        Ok(Self { number: u32::from_le_bytes(number), is_of_this_thread: PhantomData })
    }

    #[inline(never)]
    fn run(&self, operation: Operation, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        MODULE.serve(CryptRequest::Use(self.number, operation), input, output).map(drop)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // Needs a few bytes of a buffer that is there.
        let _ = MODULE.serve(CryptRequest::Free(self.number), &[], &mut []);
    }
}

/// See `direct/sector_cipher.rs`.
pub struct SectorCipher {
    object: Object,
    /// Whether the platform may decrypt.
    begins: Cell<bool>,
}

impl SectorCipher {
    /// See `direct/sector_cipher.rs`.
    pub fn new(key: &[u8]) -> Result<Self, CryptError> {
        Ok(Self { object: Object::new(Creation::SectorCipher, key)?, begins: Cell::new(true) })
    }

    /// See `direct/sector_cipher.rs`.
    pub fn decrypt(&self, first: u64, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        let firsts = (first..).step_by(AT_ONCE / SECTOR);
        for ((input, output), first) in input.chunks(AT_ONCE).zip(output.chunks_mut(AT_ONCE)).zip(firsts) {
            self.finish(first, input, output, 0)?;
        }
        Ok(())
    }

    /// See `direct/sector_cipher.rs`.
    pub fn begin(&self, first: u64, input: &[u8]) -> i32 {
        let mut pending = [0; 4];
        if self.begins.get() {
            // Without it, `finish` does all.
            let _ = self.object.run(Operation::Begin { first }, input, &mut pending);
        }
        let pending = i32::from_le_bytes(pending);
        if pending < 0 {
            self.begins.set(false);
        }
        pending
    }

    /// See `direct/sector_cipher.rs`.
    pub fn finish(&self, first: u64, input: &[u8], output: &mut [u8], pending: i32) -> Result<(), CryptError> {
        self.object.run(Operation::Decrypt { first, pending }, input, output)
    }
}

/// See `direct/hash.rs`.
pub struct Hasher(Object);

impl Hasher {
    /// See `direct/hash.rs`.
    pub fn new(hash: Hash) -> Result<Self, CryptError> {
        Object::new(Creation::Hasher(hash), &[]).map(Self)
    }

    /// See `direct/hash.rs`.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), CryptError> {
        self.0.run(Operation::Add, bytes, &mut [])
    }

    /// See `direct/hash.rs`.
    pub fn hash(&self, output: &mut [u8]) -> Result<(), CryptError> {
        self.0.run(Operation::Hash, &[], output)
    }
}

/// See `direct/hash.rs`.
pub fn hash_blocks(bytes: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
    MODULE.serve(CryptRequest::HashBlocks, bytes, output).map(drop)
}

/// See `direct/luks/mod.rs`.
pub fn describe(start: &[u8], len: usize, output: &mut [u8]) -> Result<usize, CryptError> {
    MODULE.serve(CryptRequest::Describe { len: len as u32 }, start, output)
}

/// See `direct/luks/unlocking.rs`. It is in a separate instance, which is dropped with it: the memory of an instance never
/// shrinks, and Argon2 takes much.
pub struct Unlocking(SeparateInstance);

impl Unlocking {
    /// See `direct/luks/unlocking.rs`.
    pub fn new(start: &[u8], len: usize, password: &[u8]) -> Result<Self, CryptError> {
        let instance = MODULE.separate_instance().ok_or(CryptError::OutOfMemory)?;
        let creation = Creation::Unlocking { start: start.len() as u32, len: len as u32 };
        instance.serve(CryptRequest::Create(creation), &Zeroizing::new([start, password].concat()), &mut [0; 4])?;
        Ok(Self(instance))
    }

    /// See `direct/luks/unlocking.rs`.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, CryptError> {
        // It is the first object.
        self.0.serve(CryptRequest::Use(0, Operation::Step), input, output)
    }
}
