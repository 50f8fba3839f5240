//! The WebAssembly module `crypt.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_crypt::{Creation, CryptError, Derivation, Hasher, Operation, Request, SectorCipher, merge};
use decant_module::{Service, export};

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

/// The objects of the host by their numbers. Each is in a slice of one: a box that is allocated without a trap.
#[derive(Default)]
struct CryptService(Vec<Option<Box<[Object]>>>);

impl CryptService {
    fn keep(&mut self, object: Object) -> Result<u32, CryptError> {
        let mut boxed = Vec::new();
        boxed.try_reserve_exact(1).map_err(|_| CryptError::OutOfMemory)?;
        boxed.push(object);
        let free = self.0.iter().position(Option::is_none);
        let number = free.unwrap_or(self.0.len());
        if number == self.0.len() {
            self.0.try_reserve(1).map_err(|_| CryptError::OutOfMemory)?;
            self.0.push(None);
        }
        self.0[number] = Some(boxed.into_boxed_slice());
        Ok(number as u32)
    }
}

impl Service for CryptService {
    type Request = Request;

    fn serve(&mut self, request: Request, input: &[u8], output: &mut [u8]) -> Result<usize, CryptError> {
        match request {
            Request::Create(creation) => {
                let number = self.keep(Object::new(creation, input)?)?;
                output.copy_from_slice(&number.to_le_bytes());
            }
            Request::Use(number, operation) => {
                let object = self.0[number as usize].as_mut().expect("it is freed after its last use");
                object[0].run(operation, input, output)?;
            }
            Request::Free(number) => self.0[number as usize] = None,
            Request::Merge(hash) => merge(hash, input, output)?,
        }
        Ok(output.len())
    }
}

export!(crypt, CryptService);
