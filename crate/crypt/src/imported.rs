//! By the module `crate/crypt/wasm`.

use crate::{CipherSpec, Creation, CryptError, Hash, Operation, Request, SALT, SECTOR};
use decant_module::Module;
use std::marker::PhantomData;

/// The module. It must be ready before anything else is used.
pub static MODULE: Module = Module::loaded("crypt");

/// The most bytes that are decrypted at once: as many as caches hold twice, and still many for a call.
const AT_ONCE: usize = 256 * SECTOR;

/// An object in the instance of this thread.
struct Object {
    number: u32,
    is_of_this_thread: PhantomData<*const ()>,
}

impl Object {
    fn new(creation: Creation, secret: &[u8]) -> Result<Self, CryptError> {
        let mut number = [0; 4];
        MODULE.serve(Request::Create(creation), secret, &mut number)?;
        Ok(Self { number: u32::from_le_bytes(number), is_of_this_thread: PhantomData })
    }

    fn run(&self, operation: Operation, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        MODULE.serve(Request::Use(self.number, operation), input, output).map(drop)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // Needs a few bytes of a buffer that is there.
        let _ = MODULE.serve(Request::Free(self.number), &[], &mut []);
    }
}

/// See `direct/sector_cipher.rs`.
pub struct SectorCipher(Object);

impl SectorCipher {
    /// See `direct/sector_cipher.rs`.
    pub fn new(spec: CipherSpec, key: &[u8]) -> Result<Self, CryptError> {
        Object::new(Creation::SectorCipher(spec), key).map(Self)
    }

    /// See `direct/sector_cipher.rs`.
    pub fn decrypt(&self, first: u64, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        let firsts = (first..).step_by(AT_ONCE / SECTOR);
        for ((input, output), first) in input.chunks(AT_ONCE).zip(output.chunks_mut(AT_ONCE)).zip(firsts) {
            self.0.run(Operation::Decrypt { first }, input, output)?;
        }
        Ok(())
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

/// See `direct/derivation.rs`.
pub struct Derivation(Object);

impl Derivation {
    /// See `direct/derivation.rs`.
    pub fn new(hash: Hash, password: &[u8], salt: &[u8; SALT], block: u32) -> Result<Self, CryptError> {
        Object::new(Creation::Derivation { hash, salt: *salt, block }, password).map(Self)
    }

    /// See `direct/derivation.rs`.
    pub fn iterate(&mut self, count: u32) -> Result<(), CryptError> {
        self.0.run(Operation::Iterate { count }, &[], &mut [])
    }

    /// See `direct/derivation.rs`.
    pub fn block(&self, output: &mut [u8]) -> Result<(), CryptError> {
        self.0.run(Operation::Block, &[], output)
    }
}

/// See `direct/merge.rs`.
pub fn merge(hash: Hash, split: &[u8], key: &mut [u8]) -> Result<(), CryptError> {
    MODULE.serve(Request::Merge(hash), split, key).map(drop)
}
