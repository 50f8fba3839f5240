//! Reads LUKS1 headers ("LUKS On-Disk Format", version 1.2), as embedded in qcow2.

pub use decant_codec::{BlockCipher, Hash};

use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR, be16, be32, text_before_nul};
use serde::{Deserialize, Serialize};

/// Length of a header, in bytes.
const HEADER: u64 = 592;
const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";
const SLOTS: usize = 8;
/// Offset of the first key slot, and the length of each, in bytes.
const FIRST_SLOT: usize = 208;
const SLOT: usize = 48;
const ACTIVE: u32 = 0x00ac_71f3;
/// The number of stripes that every writer uses; fewer are supported too.
const MAX_STRIPES: u32 = 4000;
/// Length of the longest key, in bytes: XTS with two keys of 256 bits.
const MAX_KEY: usize = 64;

/// A block cipher mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// XTS: XEX with ciphertext stealing, with two keys.
    Xts,
    /// CBC: cipher block chaining.
    Cbc,
    /// ECB: each block is encrypted independently.
    Ecb,
    /// CTR: an encrypted counter is the key stream.
    Ctr,
}

/// A method to derive the initialisation vector from a sector number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IvGenerator {
    /// The low 32 bits of the sector number.
    Plain,
    /// The sector number.
    Plain64,
    /// The sector number, encrypted with the hash of the key.
    Essiv(Hash),
}

fn hash_by_name(name: &str) -> Result<Hash> {
    match name {
        "md5" => Ok(Hash::Md5),
        "sha1" => Ok(Hash::Sha1),
        "ripemd160" => Ok(Hash::Ripemd160),
        "sha224" => Ok(Hash::Sha224),
        "sha256" => Ok(Hash::Sha256),
        "sha384" => Ok(Hash::Sha384),
        "sha512" => Ok(Hash::Sha512),
        other => Err(Error::unsupported(format!("LUKS with the hash '{}'", shown(other)))),
    }
}

/// The encryption of a layer's sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CipherSpec {
    /// The cipher.
    pub cipher: BlockCipher,
    /// The mode.
    pub mode: Mode,
    /// The initialisation vectors.
    pub iv: IvGenerator,
}

impl CipherSpec {
    /// The error for an unsupported combination, or a key length that the cipher does not take.
    pub fn unsupported(&self) -> Error {
        Error::unsupported(format!("encryption by {:?} in mode {:?} with a key of this length", self.cipher, self.mode))
    }
}

/// A validated header.
#[derive(Clone, Debug)]
pub struct Luks {
    /// The cipher's name: "aes".
    pub cipher_name: String,
    /// The cipher mode with its initialisation vectors: "xts-plain64".
    pub cipher_mode: String,
    /// The hash's name: "sha256".
    pub hash_name: String,
    /// Offset of the payload in a LUKS file, in bytes.
    pub payload_offset: u64,
    /// Length of the master key, in bytes.
    pub key_bytes: usize,
    /// The digest of the master key.
    pub digest: [u8; 20],
    /// The salt of the digest.
    pub digest_salt: [u8; 32],
    /// Iterations of the digest.
    pub digest_iterations: u32,
    /// The UUID as text.
    pub uuid: String,
    /// All eight key slots.
    pub slots: Vec<Slot>,
}

/// The parts of a mode like "cbc-essiv:sha256".
#[derive(Clone, Copy, Debug)]
pub struct ModeNames<'a> {
    /// The block cipher mode: "cbc".
    pub mode: &'a str,
    /// The method for initialisation vectors: "essiv".
    pub iv: Option<&'a str>,
    /// The hash of that method: "sha256".
    pub hash: Option<&'a str>,
}

/// A key slot.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Whether it holds a key.
    pub active: bool,
    /// Iterations of its key derivation.
    pub iterations: u32,
    /// The salt of its key derivation.
    pub salt: [u8; 32],
    /// Offset of its key material from the start of the header, in bytes.
    pub key_offset: u64,
    /// Number of stripes into which its master key is split.
    pub stripes: u32,
}

impl Luks {
    /// Reads and validates the header at the start of `place`, which must include the key material. Fails with
    /// `corrupt`, `unsupported`, `limit` or `source`.
    pub async fn read(source: &dyn Source, place: ByteRange) -> Result<Self> {
        if place.len < HEADER {
            return Err(Error::corrupt("the LUKS header is too short", place.start));
        }
        let bytes = read_exact(source, ByteRange { start: place.start, len: HEADER }, "LUKS header").await?;
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::corrupt("there is no LUKS header where the image says", place.start));
        }
        let version = be16(&bytes, 6);
        if version != 1 {
            return Err(Error::unknown_version(version, "LUKS"));
        }
        let header = Self {
            cipher_name: text_before_nul(&bytes[8..40]),
            cipher_mode: text_before_nul(&bytes[40..72]),
            hash_name: text_before_nul(&bytes[72..104]),
            payload_offset: u64::from(be32(&bytes, 104)) * SECTOR,
            key_bytes: be32(&bytes, 108) as usize,
            digest: bytes[112..132].try_into().expect("20 bytes"),
            digest_salt: bytes[132..164].try_into().expect("32 bytes"),
            digest_iterations: be32(&bytes, 164),
            uuid: text_before_nul(&bytes[168..208]),
            slots: bytes[FIRST_SLOT..].chunks_exact(SLOT).take(SLOTS).map(slot).collect(),
        };
        header.check(place)?;
        Ok(header)
    }

    fn check(&self, place: ByteRange) -> Result<()> {
        let at = |offset: u64| HostOffset(place.start.0 + offset);
        if !(1..=MAX_KEY).contains(&self.key_bytes) {
            return Err(Error::corrupt(format!("the LUKS key has {} bytes", self.key_bytes), at(108)));
        }
        if self.digest_iterations == 0 {
            return Err(Error::corrupt("the LUKS header has no iterations", at(164)));
        }
        for (number, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.active) {
            let here = at((FIRST_SLOT + number * SLOT) as u64);
            if slot.iterations == 0 {
                return Err(Error::corrupt(format!("LUKS key slot {number} has no iterations"), here));
            }
            if slot.stripes == 0 {
                return Err(Error::corrupt(format!("LUKS key slot {number} has no stripes"), here));
            }
            if slot.stripes > MAX_STRIPES {
                let message = format!("LUKS key slot {number} has {} stripes, more than {MAX_STRIPES}", slot.stripes);
                return Err(Error::new(ErrorKind::Limit, message));
            }
        }
        Ok(())
    }

    /// Splits `cipher_mode` into its parts.
    pub fn mode_names(&self) -> ModeNames<'_> {
        let (mode, iv) = split_name(&self.cipher_mode, '-');
        let (iv, hash) = iv.map_or((None, None), |iv| {
            let (iv, hash) = split_name(iv, ':');
            (Some(iv), hash)
        });
        ModeNames { mode, iv, hash }
    }

    /// The slots with a key.
    pub fn active_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.active)
    }

    /// The range of the key material of `slot`, in whole sectors, for a header at `place`.
    pub fn key_material(&self, slot: &Slot, place: ByteRange) -> Result<ByteRange> {
        let len = (self.key_bytes as u64 * u64::from(slot.stripes)).next_multiple_of(SECTOR);
        let start = HostOffset(place.start.0.saturating_add(slot.key_offset));
        ByteRange::new(start, len).ok_or_else(|| Error::impossible_position("LUKS key slot", start))
    }

    /// The hash of the key derivation. Fails with `unsupported` if it is unknown.
    pub fn hash(&self) -> Result<Hash> {
        hash_by_name(&self.hash_name)
    }

    /// The cipher, its mode and its initialisation vectors. Fails with `unsupported` if any of them is unknown.
    pub fn cipher_spec(&self) -> Result<CipherSpec> {
        let unknown = || {
            let (name, mode) = (shown(&self.cipher_name), shown(&self.cipher_mode));
            Error::unsupported(format!("LUKS with the cipher '{name}-{mode}'"))
        };
        let cipher = match self.cipher_name.as_str() {
            "aes" => BlockCipher::Aes,
            "serpent" => BlockCipher::Serpent,
            "twofish" => BlockCipher::Twofish,
            _ => return Err(unknown()),
        };
        let names = self.mode_names();
        let mode = match names.mode {
            "xts" => Mode::Xts,
            "cbc" => Mode::Cbc,
            "ecb" => Mode::Ecb,
            "ctr" => Mode::Ctr,
            _ => return Err(unknown()),
        };
        let iv = match names.iv.unwrap_or("plain") {
            // QEMU may also write a hash with these, which is not used.
            "plain" => IvGenerator::Plain,
            "plain64" => IvGenerator::Plain64,
            "essiv" => IvGenerator::Essiv(hash_by_name(names.hash.unwrap_or_default())?),
            _ => return Err(unknown()),
        };
        Ok(CipherSpec { cipher, mode, iv })
    }
}

/// Splits `name` at the first `separator`.
fn split_name(name: &str, separator: char) -> (&str, Option<&str>) {
    name.split_once(separator).map_or((name, None), |(before, behind)| (before, Some(behind)))
}

fn slot(bytes: &[u8]) -> Slot {
    Slot {
        active: be32(bytes, 0) == ACTIVE,
        iterations: be32(bytes, 4),
        salt: bytes[8..40].try_into().expect("32 bytes"),
        key_offset: u64::from(be32(bytes, 40)) * SECTOR,
        stripes: be32(bytes, 44),
    }
}
