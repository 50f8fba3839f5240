//! The module `crypt.wasm`: serves requests, and takes functions of the platform.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use crate::{
    Creation, CryptError, CryptRequest, Hasher, Operation, Platform, PlatformFunction, SectorCipher, Unlocking,
    describe, hash_blocks,
};
use decant_module::{Objects, Service, export};

/// An object of the host.
#[expect(clippy::large_enum_variant, reason = "each is in its own allocation")]
enum Object {
    SectorCipher(SectorCipher),
    Hasher(Hasher),
    Unlocking(Unlocking),
}

impl Object {
    fn new(creation: Creation, secret: &[u8]) -> Result<Self, CryptError> {
        Ok(match creation {
            Creation::SectorCipher => Self::SectorCipher(SectorCipher::new(secret)?),
            Creation::Hasher(hash) => Self::Hasher(Hasher::new(hash)?),
            Creation::Unlocking { start, len } => {
                let (start, password) = secret.split_at(start as usize);
                Self::Unlocking(Unlocking::new(start, len as usize, password)?)
            }
        })
    }

    /// Returns the length of the output.
    fn run(&mut self, operation: Operation, input: &[u8], output: &mut [u8]) -> Result<usize, CryptError> {
        match (self, operation) {
            (Self::SectorCipher(cipher), Operation::Decrypt { first, pending }) => {
                cipher.finish(first, input, output, pending)?;
            }
            (Self::SectorCipher(cipher), Operation::Begin { first }) => {
                output.copy_from_slice(&cipher.begin(first, input).to_le_bytes());
            }
            (Self::Hasher(hasher), Operation::Add) => hasher.add(input)?,
            (Self::Hasher(hasher), Operation::Hash) => hasher.hash(output)?,
            (Self::Unlocking(unlocking), Operation::Step) => return unlocking.step(input, output),
            _ => unreachable!("an object is used as the kind that was created"),
        }
        Ok(output.len())
    }
}

/// The objects of the host.
#[derive(Default)]
struct CryptService(Objects<Object>);

impl Service for CryptService {
    type Request = CryptRequest;

    fn serve(&mut self, request: CryptRequest, input: &[u8], output: &mut [u8]) -> Result<usize, CryptError> {
        match request {
            CryptRequest::Create(creation) => {
                let object = Object::new(creation, input)?;
                let number = self.0.keep(object).ok_or(CryptError::OutOfMemory)?;
                output.copy_from_slice(&number.to_le_bytes());
            }
            CryptRequest::Use(number, operation) => return self.0.get(number).run(operation, input, output),
            CryptRequest::Free(number) => self.0.free(number),
            CryptRequest::HashBlocks => hash_blocks(input, output)?,
            CryptRequest::Describe { len } => return describe(input, len as usize, output),
        }
        Ok(output.len())
    }
}

export!(crypt, CryptService);

/// Uses functions of the platform from now on: positions in the exported table.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "one for each function of the platform")]
extern "C" fn use_platform(
    prepare: PlatformFunction,
    run: PlatformFunction,
    free: PlatformFunction,
    begin: PlatformFunction,
    take: PlatformFunction,
    derive: PlatformFunction,
    hash: PlatformFunction,
    add: PlatformFunction,
    digest: PlatformFunction,
    end: PlatformFunction,
) {
    crate::use_platform(Platform { prepare, run, free, begin, take, derive, hash, add, digest, end });
}
