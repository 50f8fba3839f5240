//! LUKS volumes, of both versions, with AES in XTS mode, PBKDF2 by SHA-256, and keys in one stripe. JSON has one segment,
//! one digest and one key slot.

use super::super::luks_writer::{PASSWORD, SALT};
use super::Reference;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use serde_json::Value;
use sha2::{Digest, Sha256};

const CIPHER: &str = "aes-xts-plain64";
/// The length of the keys for the data and the tweaks together.
const KEY: u64 = 32;
/// Maximum number of iterations.
const MOST: u64 = 1 << 20;

/// The key of the password in the tests by Argon2id of one pass of 8 KiB in one lane, as libargon2 derives it.
pub const BY_ARGON2: [u8; 32] = [
    17, 104, 221, 160, 38, 204, 0, 53, 21, 136, 68, 113, 84, 85, 107, 99, 109, 94, 85, 254, 96, 80, 97, 226, 99, 120,
    120, 194, 38, 224, 92, 208,
];

pub struct Luks<'a> {
    payload: &'a [u8],
    key: Vec<u8>,
    sector: usize,
    /// The number of the first 512 bytes.
    first: u64,
}

/// The big-endian number of `len` bytes at `at`.
fn big(image: &[u8], at: usize, len: usize) -> Option<u64> {
    Some(image.get(at..at.checked_add(len)?)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The text of up to `len` bytes at `at`.
fn text(image: &[u8], at: usize, len: usize) -> Option<&str> {
    std::str::from_utf8(image.get(at..at + len)?.split(|&byte| byte == 0).next()?).ok()
}

fn derived(secret: &[u8], salt: &[u8], iterations: u64, len: usize) -> Option<Vec<u8>> {
    let mut key = vec![0; len];
    let iterations = u32::try_from(iterations).ok().filter(|_| (1..=MOST).contains(&iterations))?;
    pbkdf2::pbkdf2_hmac::<Sha256>(secret, salt, iterations, &mut key);
    Some(key)
}

/// Decrypts `sector` (IEEE 1619), whose number in units of 512 bytes is `number`.
fn decrypted(key: &[u8], number: u64, sector: &[u8]) -> Vec<u8> {
    let cipher = |key: &[u8]| Aes128::new(&Array::try_from(key).expect("a key of 16 bytes"));
    let (data, tweak) = (cipher(&key[..16]), cipher(&key[16..]));
    let mut mask = Block::default();
    mask[..8].copy_from_slice(&number.to_le_bytes());
    tweak.encrypt_block(&mut mask);
    let mut mask = u128::from_le_bytes(mask.0);
    let decrypted = |part: &[u8; 16]| {
        let mut block = Block::from((u128::from_le_bytes(*part) ^ mask).to_le_bytes());
        data.decrypt_block(&mut block);
        let plain = u128::from_le_bytes(block.0) ^ mask;
        mask = mask << 1 ^ if mask >> 127 == 1 { 0x87 } else { 0 };
        plain.to_le_bytes()
    };
    sector.as_chunks::<16>().0.iter().flat_map(decrypted).collect()
}

/// The key in the material at `at`, if its digest is `digest`.
fn key(image: &[u8], derived_key: &[u8], at: u64, digest: impl Fn(&[u8]) -> Option<bool>) -> Option<Vec<u8>> {
    let at = usize::try_from(at).ok()?;
    let key = decrypted(derived_key, 0, image.get(at..at.checked_add(512)?)?)[..KEY as usize].to_vec();
    digest(&key)?.then_some(key)
}

impl<'a> Luks<'a> {
    /// `None` if the image is not supported.
    pub fn open(image: &'a [u8], password: &[u8]) -> Option<Self> {
        if image.starts_with(b"LUKS\xba\xbe\0\x01") {
            Self::version_1(image, password)
        } else {
            Self::version_2(image, password)
        }
    }

    fn version_1(image: &'a [u8], password: &[u8]) -> Option<Self> {
        let names = [text(image, 8, 32)?, text(image, 40, 32)?, text(image, 72, 32)?];
        if names != ["aes", "xts-plain64", "sha256"] || big(image, 108, 4)? != KEY {
            return None;
        }
        let digest = |key: &[u8]| Some(derived(key, &image[132..164], big(image, 164, 4)?, 20)? == image[112..132]);
        let slot = |number: usize| {
            let at = 208 + 48 * number;
            let is_active = big(image, at, 4)? == 0x00ac_71f3 && big(image, at + 44, 4)? == 1;
            let (salt, iterations) = (image.get(at + 8..at + 40)?, big(image, at + 4, 4)?);
            let derived_key = is_active.then(|| derived(password, salt, iterations, KEY as usize))??;
            key(image, &derived_key, 512 * big(image, at + 40, 4)?, digest)
        };
        let payload = image.get(512 * big(image, 104, 4)? as usize..)?;
        Some(Self { payload, key: (0..8).find_map(slot)?, sector: 512, first: 0 })
    }

    fn version_2(image: &'a [u8], password: &[u8]) -> Option<Self> {
        let header: Value = serde_json::from_str(json(image)?).ok()?;
        let only = |name: &str| header[name].as_object().filter(|all| all.len() == 1)?.iter().next();
        let ((slot_name, slot), (segment_name, segment)) = (only("keyslots")?, only("segments")?);
        let (_, digest) = only("digests")?;
        let (af, area, kdf) = (&slot["af"], &slot["area"], &slot["kdf"]);
        let is_supported = header["config"]["requirements"].is_null()
            && names(digest, "keyslots") == [slot_name]
            && names(digest, "segments") == [segment_name]
            && is(segment, "type", "crypt")
            && is(segment, "encryption", CIPHER)
            && segment["integrity"].is_null()
            && is(slot, "type", "luks2")
            && number(slot, "key_size")? == KEY
            && is(area, "type", "raw")
            && is(area, "encryption", CIPHER)
            && number(area, "key_size")? == KEY
            && is(af, "type", "luks1")
            && is(af, "hash", "sha256")
            && number(af, "stripes")? == 1
            && is(digest, "type", "pbkdf2")
            && is(digest, "hash", "sha256");
        if !is_supported {
            return None;
        }
        let derived_key = by_kdf(kdf, password)?;
        let value = bytes(digest, "digest")?;
        let (salt, iterations) = (bytes(digest, "salt")?, number(digest, "iterations")?);
        let is_key = |key: &[u8]| Some(derived(key, &salt, iterations, value.len())? == value);
        let key = key(image, &derived_key, number(area, "offset")?, is_key)?;
        let payload = image.get(usize::try_from(number(segment, "offset")?).ok()?..)?;
        let payload = match is(segment, "size", "dynamic") {
            true => payload,
            false => payload.get(..usize::try_from(number(segment, "size")?).ok()?)?,
        };
        let sector = number(segment, "sector_size").filter(|size| [512, 1024, 2048, 4096].contains(size))? as usize;
        Some(Self { payload, key, sector, first: number(segment, "iv_tweak")? })
    }
}

/// The key of `password` by a derivation: PBKDF2, or Argon2 only as in the tests.
fn by_kdf(kdf: &Value, password: &[u8]) -> Option<Vec<u8>> {
    let salt = bytes(kdf, "salt")?;
    if is(kdf, "type", "argon2id") {
        let is_known = [number(kdf, "time")?, number(kdf, "memory")?, number(kdf, "cpus")?] == [1, 8, 1];
        return (is_known && salt == SALT && password == PASSWORD).then(|| BY_ARGON2.to_vec());
    }
    let iterations = number(kdf, "iterations")?;
    (is(kdf, "type", "pbkdf2") && is(kdf, "hash", "sha256"))
        .then(|| derived(password, &salt, iterations, KEY as usize))?
}

/// The JSON of the newer one of the two copies of the header that are valid, or of the first one.
fn json(image: &[u8]) -> Option<&str> {
    let copy = |number: usize, len: usize| {
        let copy = image.get(number * len..(number + 1) * len)?;
        let magic = [b"LUKS\xba\xbe\0\x02", b"SKUL\xba\xbe\0\x02"][number];
        let stated = [big(copy, 8, 8)?, big(copy, 256, 8)?];
        let zeroed = [&copy[..448], &[0; 64], &copy[512..]].concat();
        let is_valid = copy.starts_with(magic)
            && stated == [len as u64, (number * len) as u64]
            && text(copy, 72, 32)? == "sha256"
            && Sha256::digest(&zeroed)[..] == copy[448..480];
        is_valid.then_some(copy)
    };
    let copies = (14..=22).find_map(|power| {
        let copies: Vec<_> = (0..2).filter_map(|number| copy(number, 1 << power)).collect();
        (!copies.is_empty()).then_some(copies)
    })?;
    let newest = copies.into_iter().rev().max_by_key(|copy| big(copy, 16, 8))?;
    text(newest, 4096, newest.len() - 4096)
}

fn is(object: &Value, name: &str, expected: &str) -> bool {
    object[name].as_str() == Some(expected)
}

/// A number, which may be in a string.
fn number(object: &Value, name: &str) -> Option<u64> {
    object[name].as_u64().or_else(|| object[name].as_str()?.parse().ok())
}

fn names<'a>(object: &'a Value, name: &str) -> Vec<&'a str> {
    object[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Bytes in base64.
fn bytes(object: &Value, name: &str) -> Option<Vec<u8>> {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = object[name].as_str()?.trim_end_matches('=');
    let bits = |sign: u8| SIGNS.iter().position(|&known| known == sign);
    let numbers: Vec<usize> = text.bytes().map(bits).collect::<Option<_>>()?;
    let of_four = |four: &[usize]| {
        let value = four.iter().fold(0, |value, &bits| value << 6 | bits as u32) << (6 * (4 - four.len()));
        value.to_be_bytes()[1..1 + four.len() * 3 / 4].to_vec()
    };
    Some(numbers.chunks(4).flat_map(of_four).collect())
}

impl Reference for Luks<'_> {
    fn size(&self) -> u64 {
        self.payload.len() as u64
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let (guest, sector) = (guest as usize, self.sector);
        let start = guest / sector * sector;
        let number = self.first.wrapping_add(start as u64 / 512);
        let plain = decrypted(&self.key, number, self.payload.get(start..start + sector)?);
        plain.get(guest - start..guest - start + len).map(<[u8]>::to_vec)
    }
}
