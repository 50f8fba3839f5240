//! Headers of LUKS2 ("LUKS2 On-Disk Format Specification", version 1.1).

use super::luks1::text;
use super::{Fault, Kdf, KeyDigest, KeySlot, Luks, Read, unsupported};
use crate::direct::argon2::{Argon2, Argon2Kind};
use crate::direct::hash::{Hasher, LONGEST_HASH};
use crate::{CryptError, Hash, SALT};

/// The start of each copy.
const MAGICS: [&[u8; 6]; 2] = [b"LUKS\xba\xbe", b"SKUL\xba\xbe"];
const VERSION: u16 = 2;
/// The length of the binary part of a copy; the JSON area follows.
const BINARY: usize = 4096;
// Offsets of the fields in the binary part.
const HDR_SIZE: usize = 8;
const SEQID: usize = 16;
const CSUM_ALG: usize = 72;
const CSUM_ALG_LEN: usize = 32;
const UUID: usize = 168;
const UUID_LEN: usize = 40;
const HDR_OFFSET: usize = 256;
const CSUM: usize = 448;
const CSUM_LEN: usize = 64;

/// How the requirement of an unfinished reencryption begins, and the words for it in the message.
const ONLINE_REENCRYPTION: &str = "online-reencrypt";
const REENCRYPTION: &str = "LUKS2 with a reencryption that is not complete (complete it with 'cryptsetup reencrypt --resume-only'), the requirement";

/// The lengths of keys, in bytes. AES-256 in mode XTS has the longest: two keys of 256 bits.
const MAX_KEY: u32 = 64;
const MIN_KEY: u32 = 16;
/// The number of stripes that every writer uses; fewer are supported too.
const MAX_STRIPES: u32 = 4000;
/// The length of the longest name of a cipher, a hash or an object.
const MAX_NAME: usize = 64;
/// The maximum number of key slots.
const MAX_SLOTS: usize = 32;
/// The priority of a key slot if none is stated, and of one that is used only explicitly.
const NORMAL: u64 = 1;
const IGNORED: u64 = 0;

/// Reads the header in `copies`, the first bytes of a file: two copies of `len` bytes each, perhaps cut off.
/// The newer one of the valid copies counts.
pub(super) fn read(copies: &[u8], len: usize) -> Read<Luks> {
    let mut valid = Vec::new();
    for (number, magic) in MAGICS.into_iter().enumerate() {
        let offset = number * len;
        let Some(copy) = copies.get(offset..offset + len) else { continue };
        if copy.starts_with(magic) && is_valid(copy, offset)? {
            valid.push(copy);
        }
    }
    let is_other_damaged = valid.len() < MAGICS.len();
    // The first one of equals.
    let copy = valid.into_iter().rev().max_by_key(|copy| be64(copy, SEQID)).ok_or(Fault::NoHeader)?;
    Ok(Luks { is_other_damaged, ..read_copy(copy)? })
}

fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Whether `copy`, at `offset` of the file, has its place and length in it and the right checksum.
fn is_valid(copy: &[u8], offset: usize) -> Result<bool, CryptError> {
    let states = |at: usize, value: usize| be64(copy, at) == value as u64;
    if copy[6..8] != VERSION.to_be_bytes() || !states(HDR_SIZE, copy.len()) || !states(HDR_OFFSET, offset) {
        return Ok(false);
    }
    let Some(hash) = Hash::by_name(&text(copy, CSUM_ALG, CSUM_ALG_LEN)) else { return Ok(false) };
    let mut hasher = Hasher::new(hash)?;
    for part in [&copy[..CSUM], &[0; CSUM_LEN], &copy[CSUM + CSUM_LEN..]] {
        hasher.add(part)?;
    }
    let mut sum = [0; LONGEST_HASH];
    let sum = &mut sum[..hash.output_len()];
    hasher.hash(sum)?;
    Ok(copy[CSUM..].starts_with(sum))
}

fn corrupt(what: impl Into<String>) -> Fault {
    Fault::Corrupt(0, what.into())
}

/// Reads a valid copy.
fn read_copy(copy: &[u8]) -> Read<Luks> {
    let area = &copy[BINARY..];
    let end = area.iter().position(|&byte| byte == 0).unwrap_or(area.len());
    let values = std::str::from_utf8(&area[..end]).ok().and_then(decant_json::paths);
    let values = values.ok_or_else(|| corrupt("the LUKS2 header is not valid JSON"))?;
    let all = Object { values: &values, path: String::new() };
    let mandatory = all.object("config").object("requirements").object("mandatory");
    if let Some((_, name)) = mandatory.values().next() {
        let is_of_reencryption = name.starts_with(ONLINE_REENCRYPTION);
        return unsupported(if is_of_reencryption { REENCRYPTION } else { "LUKS2 with the requirement" }, name);
    }
    let (number, segment) = segment(&all)?;
    let (sector, payload_offset) = (segment.number("sector_size")?, segment.number("offset")?);
    if !matches!(sector, 512 | 1024 | 2048 | 4096) {
        return Err(corrupt(format!("a sector of the LUKS2 volume has {sector} bytes")));
    }
    let payload_len = match segment.get("size")? {
        "dynamic" => None,
        _ => Some(segment.number("size")?),
    };
    if !payload_offset.is_multiple_of(512) || !payload_len.unwrap_or_default().is_multiple_of(sector) {
        return Err(corrupt("the LUKS2 segment does not have whole sectors"));
    }
    let digest = digest(&all, number)?;
    let slots = slots(&all, &digest)?;
    let key_len = slots[0].number("key_size")? as usize;
    Ok(Luks {
        version: VERSION.into(),
        is_other_damaged: false,
        cipher: segment.name("encryption")?,
        key_len,
        sector: sector as u32,
        iv_offset: segment.number("iv_tweak")?,
        payload_offset,
        payload_len,
        uuid: text(copy, UUID, UUID_LEN),
        digest: key_digest(&digest)?,
        slots: slots.iter().map(|slot| key_slot(slot, key_len)).collect::<Read<_>>()?,
    })
}

/// An object or an array in the JSON area.
struct Object<'a> {
    /// All values of the area, each with its path.
    values: &'a [(String, String)],
    /// The path of the object, with a dot after it.
    path: String,
}

impl<'a> Object<'a> {
    /// The object `key` in it, which may be empty.
    fn object(&self, key: &str) -> Self {
        Self { values: self.values, path: [&self.path, key, "."].concat() }
    }

    /// The values in it, each with the rest of its path.
    fn values(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.values.iter().filter_map(|(path, value)| Some((path.strip_prefix(&self.path)?, &value[..])))
    }

    /// Its keys, each once.
    fn keys(&self) -> Vec<&'a str> {
        let mut keys: Vec<&str> = Vec::new();
        for key in self.values().filter_map(|(rest, _)| rest.split('.').next()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.values().find(|(rest, _)| *rest == key).map(|(_, value)| value)
    }

    fn get(&self, key: &str) -> Read<&'a str> {
        self.find(key).ok_or_else(|| self.wrong("lacks", key))
    }

    /// The error for the value of `key`.
    fn wrong(&self, how: &str, key: &str) -> Fault {
        corrupt(["the LUKS2 header ", how, " ", &self.path, key].concat())
    }

    fn number(&self, key: &str) -> Read<u64> {
        self.get(key)?.parse().map_err(|_| self.wrong("has an invalid", key))
    }

    /// A number from `least` to `most`.
    fn number_in(&self, key: &str, least: u32, most: u32) -> Read<u32> {
        let number = self.number(key)?;
        let within = u32::try_from(number).ok().filter(|number| (least..=most).contains(number));
        within.ok_or_else(|| self.wrong(&format!("has {number} as"), key))
    }

    /// A name of bounded length.
    fn name(&self, key: &str) -> Read<String> {
        let name = self.get(key)?;
        if name.len() > MAX_NAME { Err(self.wrong("has a name that is too long,", key)) } else { Ok(name.to_owned()) }
    }

    /// Fails unless the value of `key` is `expected`. `what` names the feature otherwise.
    fn require(&self, key: &str, expected: &str, what: &'static str) -> Read<()> {
        let found = self.get(key)?;
        if found == expected { Ok(()) } else { unsupported(what, found) }
    }

    /// Up to `LONGEST_HASH` bytes.
    fn bytes(&self, key: &str) -> Read<Vec<u8>> {
        let bytes = base64(self.get(key)?).filter(|bytes| bytes.len() <= LONGEST_HASH);
        bytes.ok_or_else(|| self.wrong("has an invalid", key))
    }

    fn salt(&self) -> Read<[u8; SALT]> {
        self.bytes("salt")?.try_into().map_err(|_| self.wrong("has an invalid", "salt"))
    }
}

/// The only segment, which must be encrypted, with its number.
fn segment<'a>(all: &Object<'a>) -> Read<(&'a str, Object<'a>)> {
    let segments = all.object("segments");
    let numbers = segments.keys();
    let [number] = numbers[..] else {
        return unsupported("LUKS2 with another number of segments than one:", &numbers.len().to_string());
    };
    let segment = segments.object(number);
    segment.require("type", "crypt", "LUKS2 with a segment of the type")?;
    match segment.object("integrity").find("type") {
        Some(integrity) => unsupported("LUKS2 with data integrity by", integrity),
        None => Ok((number, segment)),
    }
}

/// The digest of the key of `segment`.
fn digest<'a>(all: &Object<'a>, segment: &str) -> Read<Object<'a>> {
    let digests = all.object("digests");
    let mut objects = digests.keys().into_iter().map(|number| digests.object(number));
    let is_of_segment = |digest: &Object<'_>| digest.object("segments").values().any(|(_, known)| known == segment);
    let digest = objects.find(is_of_segment).ok_or_else(|| corrupt("the LUKS2 header has no digest of the key"))?;
    digest.require("type", "pbkdf2", "LUKS2 with a digest of the type")?;
    Ok(digest)
}

fn key_digest(digest: &Object<'_>) -> Read<KeyDigest> {
    let value = digest.bytes("digest")?;
    if value.is_empty() {
        return Err(digest.wrong("has an invalid", "digest"));
    }
    let iterations = digest.number_in("iterations", 1, u32::MAX)?;
    Ok(KeyDigest { hash: digest.name("hash")?, iterations, salt: digest.salt()?, value })
}

/// The key slots with the key of `digest`, in the order in which to try them; at least one. Ignored ones count only if
/// there are no others.
fn slots<'a>(all: &Object<'a>, digest: &Object<'a>) -> Read<Vec<Object<'a>>> {
    let keyslots = all.object("keyslots");
    let mut slots = Vec::new();
    for (_, number) in digest.object("keyslots").values() {
        let slot = keyslots.object(number);
        if slot.find("type") == Some("luks2") {
            let priority = if slot.find("priority").is_some() { slot.number("priority")? } else { NORMAL };
            slots.push((priority, slot));
        }
    }
    if slots.iter().any(|(priority, _)| *priority != IGNORED) {
        slots.retain(|(priority, _)| *priority != IGNORED);
    }
    slots.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    match slots.len() {
        0 => unsupported("LUKS2 without a key slot for", digest.path.trim_end_matches('.')),
        1..=MAX_SLOTS => Ok(slots.into_iter().map(|(_, slot)| slot).collect()),
        count => Err(corrupt(format!("the LUKS2 header has {count} key slots"))),
    }
}

/// Reads a key slot of a key of `key_len` bytes.
fn key_slot(slot: &Object<'_>, key_len: usize) -> Read<KeySlot> {
    let (area, af, kdf) = (slot.object("area"), slot.object("af"), slot.object("kdf"));
    if slot.number_in("key_size", MIN_KEY, MAX_KEY)? as usize != key_len {
        return Err(slot.wrong("has a different", "key_size"));
    }
    area.require("type", "raw", "LUKS2 with a key slot area of the type")?;
    af.require("type", "luks1", "LUKS2 with key splitting of the type")?;
    Ok(KeySlot {
        active: true,
        salt: kdf.salt()?,
        kdf: derivation(&kdf)?,
        cipher: area.name("encryption")?,
        derived_len: area.number_in("key_size", MIN_KEY, MAX_KEY)? as usize,
        offset: area.number("offset")?,
        stripes: af.number_in("stripes", 1, MAX_STRIPES)?,
        hash: af.name("hash")?,
    })
}

fn derivation(kdf: &Object<'_>) -> Read<Kdf> {
    let kind = match kdf.get("type")? {
        "pbkdf2" => {
            let iterations = kdf.number_in("iterations", 1, u32::MAX)?;
            return Ok(Kdf::Pbkdf2 { hash: kdf.name("hash")?, iterations });
        }
        "argon2i" => Argon2Kind::I,
        "argon2id" => Argon2Kind::Id,
        other => return unsupported("LUKS2 with the key derivation", other),
    };
    // Each lane needs eight blocks, and Argon2 has 2^24-1 of them at most.
    let lanes = kdf.number_in("cpus", 1, (1 << 24) - 1)?;
    let memory = kdf.number_in("memory", 8 * lanes, u32::MAX)?;
    Ok(Kdf::Argon2(Argon2 { kind, passes: kdf.number_in("time", 1, u32::MAX)?, memory, lanes }))
}

/// Decodes `text` from base64 (RFC 4648), as salts and digests are encoded. Returns `None` if it is invalid.
fn base64(text: &str) -> Option<Vec<u8>> {
    let signs = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - signs.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(signs.len());
    for four in signs.chunks(4) {
        let mut bits = 0;
        for (place, &sign) in four.iter().enumerate() {
            bits |= base64_value(sign)? << (18 - 6 * place);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

fn base64_value(sign: u8) -> Option<u32> {
    let value = match sign {
        b'A'..=b'Z' => sign - b'A',
        b'a'..=b'z' => sign - b'a' + 26,
        b'0'..=b'9' => sign - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_texts_of_every_length() {
        let rows: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("Zm9vYg==", Some(b"foob")),
            ("+/+/", Some(&[0xfb, 0xff, 0xbf])),
            ("Zg", None),
            ("Z===", None),
            ("====", None),
            ("Zm=v", None),
            ("Zm9\n", None),
        ];
        for (text, bytes) in rows {
            assert_eq!(base64(text).as_deref(), *bytes, "{text}");
        }
    }
}
