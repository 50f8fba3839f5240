//! Functions of the platform, which uses instructions that WebAssembly lacks. If it has none, the module's own are used.

use super::block_cipher::{Aes, Blocks, CipherBlock};
use crate::{Hash, SALT};
use ::cipher::InvalidLength;
use std::sync::OnceLock;

/// A function of the platform. All have one type, so that JavaScript can make each of them in the same way.
pub type PlatformFunction = extern "C" fn(usize, usize, usize) -> i32;

/// The functions of the platform.
pub struct Platform {
    /// `prepare(key, key_len, encrypts)`: prepares AES for one direction with a key. Returns its number, or a negative one
    /// if the platform cannot.
    pub prepare: PlatformFunction,
    /// `run(number, blocks, len)`: encrypts or decrypts each block independently, in place. Returns 0, or a negative number
    /// and leaves the blocks as they are if it fails.
    pub run: PlatformFunction,
    /// `free(number, 0, 0)`: frees a cipher.
    pub free: PlatformFunction,
    /// `begin(number, blocks, len)`: begins to decrypt a copy of the blocks by AES-CBC without an initialisation vector. The last
    /// two make a padding, which is removed. Returns the number of this decryption; 0 if the platform cannot now; a negative number if it never
    /// can.
    pub begin: PlatformFunction,
    /// `take(pending, blocks, len)`: writes what `begin` has decrypted to `blocks`, after it has settled. Returns 0, or a negative
    /// number and leaves the blocks as they are if it failed.
    pub take: PlatformFunction,
    /// `derive(derivation, 0, 0)`: begins or continues the `PlatformDerivation` at this address, for about 10 ms. Returns how
    /// many thousandths are done; 1000 after it has written the key. Returns a negative number if the platform cannot.
    pub derive: PlatformFunction,
    /// `hash(hash, 0, 0)`: begins a hash, by its number in [`Hash`]. Returns the number of the hasher, or a negative one if the platform
    /// cannot.
    pub hash: PlatformFunction,
    /// `add(number, bytes, len)`: adds bytes to a hasher. Returns 0, or a negative number if it fails.
    pub add: PlatformFunction,
    /// `digest(number, output, len)`: writes the hash of all bytes so far. Returns 0, or a negative number if it fails.
    pub digest: PlatformFunction,
    /// `end(number, 0, 0)`: frees a hasher.
    pub end: PlatformFunction,
}

static PLATFORM: OnceLock<Platform> = OnceLock::new();

/// Uses the functions of `platform` from now on.
pub fn use_platform(platform: Platform) {
    let _ = PLATFORM.set(platform);
}

/// The use of a cipher.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encrypt,
    Decrypt,
}

/// The fewest blocks for the platform: for fewer, a call of it takes longer than AES in the module.
const FEWEST: usize = 32;

/// AES by the platform if it has it, otherwise by the module.
pub(super) struct PlatformAes {
    of_module: Aes,
    direction: Direction,
    of_platform: Option<(&'static Platform, usize)>,
}

impl PlatformAes {
    /// Expands a key of 16, 24 or 32 bytes. Fails for other lengths. The platform is used only in one `direction`.
    pub(super) fn new(key: &[u8], direction: Direction) -> Result<Self, InvalidLength> {
        let of_module = Aes::new(key)?;
        let of_platform = PLATFORM.get().and_then(|platform| {
            let number = (platform.prepare)(
                key.as_ptr().expose_provenance(),
                key.len(),
                usize::from(direction == Direction::Encrypt),
            );
            Some((platform, usize::try_from(number).ok()?))
        });
        Ok(Self { of_module, direction, of_platform })
    }

    /// Returns whether the platform has done it.
    fn run(&self, direction: Direction, blocks: &mut [CipherBlock]) -> bool {
        match self.of_platform {
            Some((platform, number)) if direction == self.direction && blocks.len() >= FEWEST => {
                (platform.run)(number, blocks.as_mut_ptr().expose_provenance(), size_of_val(blocks)) == 0
            }
            _ => false,
        }
    }
}

impl Blocks for PlatformAes {
    fn encrypt(&self, blocks: &mut [CipherBlock]) {
        if !self.run(Direction::Encrypt, blocks) {
            self.of_module.encrypt(blocks);
        }
    }

    fn decrypt(&self, blocks: &mut [CipherBlock]) {
        if !self.run(Direction::Decrypt, blocks) {
            self.of_module.decrypt(blocks);
        }
    }

    fn begin_chain(&self, blocks: &mut Vec<CipherBlock>) -> i32 {
        let Some((platform, number)) = self.of_platform else { return -1 };
        if blocks.try_reserve(2).is_err() {
            return 0;
        }
        // The block before it is 0, so it decrypts to a padding of one block (RFC 5652, 6.3).
        let mut padding = CipherBlock::from([size_of::<CipherBlock>() as u8; size_of::<CipherBlock>()]);
        self.of_module.encrypt(std::slice::from_mut(&mut padding));
        blocks.extend([CipherBlock::default(), padding]);
        (platform.begin)(number, blocks.as_ptr().expose_provenance(), size_of_val(&blocks[..]))
    }

    fn take_chain(&self, pending: i32, blocks: &mut [CipherBlock]) -> bool {
        self.of_platform.is_some_and(|(platform, _)| {
            let address = blocks.as_mut_ptr().expose_provenance();
            pending > 0 && (platform.take)(pending as usize, address, size_of_val(blocks)) == 0
        })
    }
}

impl Drop for PlatformAes {
    fn drop(&mut self) {
        if let Some((platform, number)) = self.of_platform {
            (platform.free)(number, 0, 0);
        }
    }
}

/// A key derivation by PBKDF2 (RFC 8018, 5.2) for the platform. Addresses and lengths are in bytes.
#[repr(C)]
struct PlatformDerivation {
    hash: u32,
    iterations: u32,
    password: usize,
    password_len: usize,
    salt: usize,
    salt_len: usize,
    key: usize,
    key_len: usize,
}

/// Begins to derive `key` with `iterations`, or continues it for about 10 ms. Returns how many thousandths are done: with 1000,
/// the key is there. Returns `None` if the platform cannot. Only one derivation can be under way.
pub(super) fn derive(hash: Hash, password: &[u8], salt: &[u8; SALT], iterations: u32, key: &mut [u8]) -> Option<u16> {
    let derivation = PlatformDerivation {
        hash: hash as u32,
        iterations,
        password: password.as_ptr().expose_provenance(),
        password_len: password.len(),
        salt: salt.as_ptr().expose_provenance(),
        salt_len: SALT,
        key: key.as_mut_ptr().expose_provenance(),
        key_len: key.len(),
    };
    let thousandths = (PLATFORM.get()?.derive)((&raw const derivation).expose_provenance(), 0, 0);
    u16::try_from(thousandths).ok()
}

/// A hash by the platform.
pub(super) struct PlatformHasher {
    platform: &'static Platform,
    number: usize,
}

impl PlatformHasher {
    /// Begins a hash. `None` if the platform cannot.
    pub(super) fn new(hash: Hash) -> Option<Self> {
        let platform = PLATFORM.get()?;
        let number = usize::try_from((platform.hash)(hash as usize, 0, 0)).ok()?;
        Some(Self { platform, number })
    }

    /// Returns whether it has added `bytes`.
    pub(super) fn add(&mut self, bytes: &[u8]) -> bool {
        (self.platform.add)(self.number, bytes.as_ptr().expose_provenance(), bytes.len()) == 0
    }

    /// Returns whether it has written the hash of all bytes so far to `output`.
    pub(super) fn write(&self, output: &mut [u8]) -> bool {
        (self.platform.digest)(self.number, output.as_mut_ptr().expose_provenance(), output.len()) == 0
    }
}

impl Drop for PlatformHasher {
    fn drop(&mut self) {
        (self.platform.end)(self.number, 0, 0);
    }
}
