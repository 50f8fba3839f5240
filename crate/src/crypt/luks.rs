//! Reads LUKS1 headers ("LUKS On-Disk Format", version 1.2), as embedded in qcow2.

use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR, text_before_nul};
use crate::structure::structure;
use decant_crypt::{BlockCipher, CipherSpec, Hash, IvGenerator, Mode, SALT};

const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";
const SLOTS: usize = 8;
const ACTIVE: u32 = 0x00ac_71f3;
/// The number of stripes that every writer uses; fewer are supported too.
const MAX_STRIPES: u32 = 4000;
/// Length of the longest key, in bytes: XTS with two keys of 256 bits.
const MAX_KEY: usize = 64;

structure! {
    /// The header ("phdr").
    struct LuksHeader: Big {
        magic: [u8; 6] = 0,
        version: u16 = 6,
        cipher_name: [u8; 32] = 8,
        cipher_mode: [u8; 32] = 40,
        hash_spec: [u8; 32] = 72,
        /// In sectors.
        payload_offset: u32 = 104,
        key_bytes: u32 = 108,
        mk_digest: [u8; 20] = 112,
        mk_digest_salt: [u8; SALT] = 132,
        mk_digest_iter: u32 = 164,
        uuid: [u8; 40] = 168,
        key_slots: [u8; SLOTS * KeySlot::LEN] = 208,
    }
}

structure! {
    struct KeySlot: Big {
        active: u32 = 0,
        iterations: u32 = 4,
        salt: [u8; SALT] = 8,
        /// In sectors, from the start of the header.
        key_material_offset: u32 = 40,
        stripes: u32 = 44,
    }
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

/// A validated header.
#[derive(Clone, Debug)]
pub(crate) struct Luks {
    /// The cipher's name: "aes".
    pub(crate) cipher_name: String,
    /// The cipher mode with its initialisation vectors: "xts-plain64".
    pub(crate) cipher_mode: String,
    /// The hash's name: "sha256".
    pub(crate) hash_name: String,
    /// Offset of the payload in a LUKS file, in bytes.
    pub(crate) payload_offset: u64,
    /// Length of the master key, in bytes.
    pub(crate) key_bytes: usize,
    pub(crate) digest: [u8; 20],
    pub(crate) digest_salt: [u8; SALT],
    pub(crate) digest_iterations: u32,
    /// The UUID as text.
    pub(crate) uuid: String,
    /// All eight key slots.
    pub(crate) slots: Vec<Slot>,
}

/// The parts of a mode like "cbc-essiv:sha256".
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModeNames<'a> {
    /// The block cipher mode: "cbc".
    pub(crate) mode: &'a str,
    /// The method for initialisation vectors: "essiv".
    pub(crate) iv: Option<&'a str>,
    /// The hash of that method: "sha256".
    pub(crate) hash: Option<&'a str>,
}

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) active: bool,
    pub(crate) iterations: u32,
    pub(crate) salt: [u8; SALT],
    /// Offset of its key material from the start of the header, in bytes.
    pub(crate) key_offset: u64,
    /// Number of stripes into which its master key is split.
    pub(crate) stripes: u32,
}

impl Luks {
    /// Reads and validates the header at the start of `place`, which must include the key material. Fails with
    /// `corrupt`, `unsupported`, `limit` or `source`.
    pub(crate) async fn read(source: &dyn Source, place: ByteRange) -> Result<Self> {
        if place.len < LuksHeader::LEN as u64 {
            return Err(Error::corrupt("the LUKS header is too short", place.start));
        }
        let bytes =
            read_exact(source, ByteRange { start: place.start, len: LuksHeader::LEN as u64 }, "LUKS header").await?;
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::corrupt("there is no LUKS header at the position that the image states", place.start));
        }
        let header = LuksHeader::parse(&bytes);
        if header.version != 1 {
            return Err(Error::unknown_version(header.version, "LUKS"));
        }
        let luks = Self {
            cipher_name: text_before_nul(&header.cipher_name),
            cipher_mode: text_before_nul(&header.cipher_mode),
            hash_name: text_before_nul(&header.hash_spec),
            payload_offset: u64::from(header.payload_offset) * SECTOR,
            key_bytes: header.key_bytes as usize,
            digest: header.mk_digest,
            digest_salt: header.mk_digest_salt,
            digest_iterations: header.mk_digest_iter,
            uuid: text_before_nul(&header.uuid),
            slots: header.key_slots.chunks_exact(KeySlot::LEN).map(|slot| KeySlot::parse(slot).into()).collect(),
        };
        luks.check(place)?;
        Ok(luks)
    }

    fn check(&self, place: ByteRange) -> Result<()> {
        let at = |offset: u64| HostOffset(place.start.0 + offset);
        if !(1..=MAX_KEY).contains(&self.key_bytes) {
            return Err(Error::corrupt(
                format!("the LUKS key has {} bytes", self.key_bytes),
                at(LuksHeader::key_bytes),
            ));
        }
        if self.digest_iterations == 0 {
            return Err(Error::corrupt("the LUKS header has no iterations", at(LuksHeader::mk_digest_iter)));
        }
        for (number, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.active) {
            let here = at(LuksHeader::key_slots + (number * KeySlot::LEN) as u64);
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
    pub(crate) fn mode_names(&self) -> ModeNames<'_> {
        let (mode, iv) = split_name(&self.cipher_mode, '-');
        let (iv, hash) = iv.map_or((None, None), |iv| {
            let (iv, hash) = split_name(iv, ':');
            (Some(iv), hash)
        });
        ModeNames { mode, iv, hash }
    }

    /// The slots with a key.
    pub(crate) fn active_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.active)
    }

    /// The range of the key material of `slot`, in whole sectors, for a header at `place`.
    pub(super) fn key_material(&self, slot: &Slot, place: ByteRange) -> Result<ByteRange> {
        let len = (self.key_bytes as u64 * u64::from(slot.stripes)).next_multiple_of(SECTOR);
        let start = HostOffset(place.start.0.saturating_add(slot.key_offset));
        ByteRange::new(start, len).ok_or_else(|| Error::impossible_position("LUKS key slot", start))
    }

    /// The hash of the key derivation. Fails with `unsupported` if it is unknown.
    pub(super) fn hash(&self) -> Result<Hash> {
        hash_by_name(&self.hash_name)
    }

    /// The cipher, its mode and its initialisation vectors. Fails with `unsupported` if any of them is unknown.
    pub(super) fn cipher_spec(&self) -> Result<CipherSpec> {
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
    name.split_once(separator).map_or((name, None), |(before, rest)| (before, Some(rest)))
}

impl From<KeySlot> for Slot {
    fn from(slot: KeySlot) -> Self {
        Self {
            active: slot.active == ACTIVE,
            iterations: slot.iterations,
            salt: slot.salt,
            key_offset: u64::from(slot.key_material_offset) * SECTOR,
            stripes: slot.stripes,
        }
    }
}
