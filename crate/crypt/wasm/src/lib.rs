//! The WebAssembly module `crypt.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_crypt::{Creation, CryptError, Derivation, Hasher, Operation, Request, SectorCipher, merge};
use decant_module::{Objects, Service, export};

/// An object of the host.
#[expect(clippy::large_enum_variant, reason = "each is in its own allocation")]
enum Object {
    SectorCipher(SectorCipher),
    Hasher(Hasher),
    Derivation(Derivation),
}

impl Object {
    fn new(creation: Creation, secret: &[u8]) -> Result<Self, CryptError> {
        Ok(match creation {
            Creation::SectorCipher(spec) => Self::SectorCipher(SectorCipher::new(spec, secret)?),
            Creation::Hasher(hash) => Self::Hasher(Hasher::new(hash)?),
            Creation::Derivation { hash, salt, block } => {
                Self::Derivation(Derivation::new(hash, secret, &salt, block)?)
            }
        })
    }

    fn run(&mut self, operation: Operation, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        match (self, operation) {
            (Self::SectorCipher(cipher), Operation::Decrypt { first }) => cipher.decrypt(first, input, output),
            (Self::Hasher(hasher), Operation::Add) => hasher.add(input),
            (Self::Hasher(hasher), Operation::Hash) => hasher.hash(output),
            (Self::Derivation(derivation), Operation::Iterate { count }) => derivation.iterate(count),
            (Self::Derivation(derivation), Operation::Block) => derivation.block(output),
            _ => unreachable!("an object is used as the kind that was created"),
        }
    }
}

/// The objects of the host.
#[derive(Default)]
struct CryptService(Objects<Object>);

impl Service for CryptService {
    type Request = Request;

    fn serve(&mut self, request: Request, input: &[u8], output: &mut [u8]) -> Result<usize, CryptError> {
        match request {
            Request::Create(creation) => {
                let object = Object::new(creation, input)?;
                let number = self.0.keep(object).ok_or(CryptError::OutOfMemory)?;
                output.copy_from_slice(&number.to_le_bytes());
            }
            Request::Use(number, operation) => self.0.get(number).run(operation, input, output)?,
            Request::Free(number) => self.0.free(number),
            Request::Merge(hash) => merge(hash, input, output)?,
        }
        Ok(output.len())
    }
}

export!(crypt, CryptService);
