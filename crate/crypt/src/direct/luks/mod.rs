//! LUKS: reads headers, and finds the key by a password.

mod luks1;
mod luks2;
mod unlocking;

pub use unlocking::Unlocking;

use super::argon2::Argon2;
use crate::{Answer, BlockCipher, CipherSpec, CryptError, Description, Hash, IvGenerator, LuksInfo, Mode, SALT, Slot};

/// A validated header. Names of ciphers and hashes are as in the header.
struct Luks {
    version: u32,
    /// The cipher with its mode and initialisation vectors: "aes-xts-plain64".
    cipher: String,
    /// The length of the key, in bytes.
    key_len: usize,
    /// The length of an encrypted sector, in bytes.
    sector: u32,
    /// Added to sector numbers for initialisation vectors.
    iv_offset: u64,
    /// Offset of the payload in a LUKS file, in bytes.
    payload_offset: u64,
    /// The length of the payload, in bytes; `None` if it reaches to the end of the file.
    payload_len: Option<u64>,
    uuid: String,
    digest: KeyDigest,
    /// All eight of LUKS1, the ones with the key of LUKS2 in the order in which to try them.
    slots: Vec<KeySlot>,
    /// Whether the other copy of the header is damaged.
    is_other_damaged: bool,
}

/// A digest of the key by PBKDF2, which recognises the right key.
struct KeyDigest {
    hash: String,
    iterations: u32,
    salt: [u8; SALT],
    value: Vec<u8>,
}

/// A key slot: the key, split in stripes and encrypted by a key that is derived from a password.
struct KeySlot {
    /// Whether it holds a key.
    active: bool,
    kdf: Kdf,
    salt: [u8; SALT],
    /// The cipher of the key material, as [`Luks::cipher`].
    cipher: String,
    /// The length of the derived key, in bytes.
    derived_len: usize,
    /// Offset of the key material from the start of the header, in bytes.
    offset: u64,
    stripes: u32,
    /// The name of the hash by which the key was split.
    hash: String,
}

/// A derivation of a key from a password.
enum Kdf {
    /// PBKDF2, by the hash of this name.
    Pbkdf2 {
        hash: String,
        iterations: u32,
    },
    Argon2(Argon2),
}

/// Why a header is refused.
enum Fault {
    /// The header violates the format at this offset.
    Corrupt(u64, String),
    /// The header uses an unsupported feature, which it calls by this name.
    Unsupported(&'static str, String),
    /// The header requires too much memory (in bytes), or too much of something else (0).
    Limit(u64, String),
    /// Neither copy is valid.
    NoHeader,
    /// Memory of this size ran out.
    OutOfMemory(u64),
}

type Read<T> = Result<T, Fault>;

/// The memory of a cipher or a hash, about, in bytes.
const CIPHER: u64 = 16 << 10;

impl From<CryptError> for Fault {
    fn from(_: CryptError) -> Self {
        Self::OutOfMemory(CIPHER)
    }
}

impl Fault {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Corrupt(at, what) => Answer::Corrupt(*at, what),
            Self::Unsupported(what, name) => Answer::Unsupported(what, name),
            Self::Limit(size, what) => Answer::Limit(*size, what),
            Self::NoHeader => Answer::NoHeader,
            Self::OutOfMemory(size) => Answer::OutOfMemory(*size),
        }
    }
}

fn unsupported<T>(what: &'static str, name: &str) -> Read<T> {
    Err(Fault::Unsupported(what, name.to_owned()))
}

fn hash_by_name(name: &str) -> Read<Hash> {
    Hash::by_name(name).map_or_else(|| unsupported("LUKS with the hash", name), Ok)
}

/// Reads the start of a file: a header of version 1, or the two copies of one of version 2 as far as they are there, in
/// `len` bytes each.
fn read(start: &[u8], len: usize) -> Read<Luks> {
    if start[7] == 1 { luks1::read(start) } else { luks2::read(start, len) }
}

/// Describes the header at `start`: see [`read`]. Encodes an [`Answer`] in `output`, and returns its length. Never fails.
pub fn describe(start: &[u8], len: usize, output: &mut [u8]) -> Result<usize, CryptError> {
    Ok(match read(start, len) {
        Ok(luks) => Answer::Described(description(luks)).encode(output),
        Err(fault) => fault.answer().encode(output),
    })
}

fn description(luks: Luks) -> Description {
    let CipherNames { cipher, mode, iv, hash } = cipher_names(&luks.cipher);
    let keys = if mode == "xts" { 2 } else { 1 };
    let slot = |slot: &KeySlot| {
        let (Kdf::Pbkdf2 { iterations, .. } | Kdf::Argon2(Argon2 { passes: iterations, .. })) = slot.kdf;
        Slot { active: slot.active, iterations, key_offset: slot.offset, stripes: slot.stripes }
    };
    let info = LuksInfo {
        version: luks.version,
        cipher: format!("{cipher}-{}", luks.key_len * 8 / keys),
        mode: mode.to_owned(),
        iv: iv.unwrap_or_default().to_owned(),
        // Other generators may name a hash too, but do not use it; QEMU does not show it either.
        iv_hash: hash.filter(|hash| iv == Some("essiv") && !hash.is_empty()).map(str::to_owned),
        hash: luks.digest.hash,
        uuid: luks.uuid,
        payload_offset: luks.payload_offset,
        master_key_iterations: luks.digest.iterations,
        slots: luks.slots.iter().map(slot).collect(),
    };
    Description { info, is_copy_damaged: luks.is_other_damaged, sector: luks.sector, payload_len: luks.payload_len }
}

/// The parts of a cipher like "aes-cbc-essiv:sha256".
struct CipherNames<'a> {
    /// The block cipher: "aes".
    cipher: &'a str,
    /// The block cipher mode: "cbc".
    mode: &'a str,
    /// The method for initialisation vectors: "essiv".
    iv: Option<&'a str>,
    /// The hash of that method: "sha256".
    hash: Option<&'a str>,
}

/// Splits the name of a cipher into its parts.
fn cipher_names(name: &str) -> CipherNames<'_> {
    let (cipher, mode) = split_name(name, '-');
    let (mode, iv) = split_name(mode.unwrap_or_default(), '-');
    let (iv, hash) = iv.map_or((None, None), |iv| {
        let (iv, hash) = split_name(iv, ':');
        (Some(iv), hash)
    });
    CipherNames { cipher, mode, iv, hash }
}

/// Splits `name` at the first `separator`.
fn split_name(name: &str, separator: char) -> (&str, Option<&str>) {
    name.split_once(separator).map_or((name, None), |(before, rest)| (before, Some(rest)))
}

/// The cipher called `name`, for sectors of 512 bytes.
fn cipher_spec(name: &str) -> Read<CipherSpec> {
    let names = cipher_names(name);
    let unknown = || unsupported("LUKS with the cipher", name);
    let cipher = match names.cipher {
        "aes" => BlockCipher::Aes,
        "serpent" => BlockCipher::Serpent,
        "twofish" => BlockCipher::Twofish,
        _ => return unknown(),
    };
    let mode = match names.mode {
        "xts" => Mode::Xts,
        "cbc" => Mode::Cbc,
        "ecb" => Mode::Ecb,
        "ctr" => Mode::Ctr,
        _ => return unknown(),
    };
    let iv = match names.iv.unwrap_or("plain") {
        // QEMU may also write a hash with these, which is not used.
        "plain" => IvGenerator::Plain,
        "plain64" => IvGenerator::Plain64,
        "essiv" => IvGenerator::Essiv(hash_by_name(names.hash.unwrap_or_default())?),
        _ => return unknown(),
    };
    Ok(CipherSpec { cipher, mode, iv, sector: 512, iv_offset: 0 })
}
