//! Headers of LUKS1 ("LUKS On-Disk Format", version 1.2), also as embedded in qcow2.

use super::{Fault, Kdf, KeyDigest, KeySlot, Luks, Read};
use crate::SECTOR;

const SLOTS: usize = 8;
const ACTIVE: u32 = 0x00ac_71f3;
/// The number of stripes that every writer uses; fewer are supported too.
const MAX_STRIPES: u32 = 4000;
/// Length of the longest key, in bytes: XTS with two keys of 256 bits.
const MAX_KEY: u32 = 64;

// The header ("phdr").
const CIPHER_NAME: usize = 8;
const CIPHER_MODE: usize = 40;
const HASH_SPEC: usize = 72;
/// In sectors.
const PAYLOAD_OFFSET: usize = 104;
const KEY_BYTES: usize = 108;
const MK_DIGEST: usize = 112;
const MK_DIGEST_LEN: usize = 20;
const MK_DIGEST_SALT: usize = 132;
const MK_DIGEST_ITER: usize = 164;
const UUID: usize = 168;
const UUID_LEN: usize = 40;
const KEY_SLOTS: usize = 208;
/// The length of a name, in bytes.
const NAME_LEN: usize = 32;

// A key slot.
const SLOT_LEN: usize = 48;
const ITERATIONS: usize = 4;
const SALT: usize = 8;
/// In sectors, from the start of the header.
const KEY_MATERIAL_OFFSET: usize = 40;
const STRIPES: usize = 44;

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Decodes `len` bytes at `at` up to the first NUL.
pub(super) fn text(bytes: &[u8], at: usize, len: usize) -> String {
    let field = bytes[at..at + len].split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(field).into_owned()
}

fn array<const LEN: usize>(bytes: &[u8], at: usize) -> [u8; LEN] {
    bytes[at..at + LEN].try_into().expect("as many bytes")
}

/// Reads and validates the header at the start of `bytes`, which have all of it.
pub(super) fn read(bytes: &[u8]) -> Read<Luks> {
    let corrupt = |at: usize, what: String| Err(Fault::Corrupt(at as u64, what));
    let (key_len, iterations) = (be32(bytes, KEY_BYTES), be32(bytes, MK_DIGEST_ITER));
    if !(1..=MAX_KEY).contains(&key_len) {
        return corrupt(KEY_BYTES, format!("the LUKS key has {key_len} bytes"));
    }
    if iterations == 0 {
        return corrupt(MK_DIGEST_ITER, "the LUKS header has no iterations".to_owned());
    }
    let hash = text(bytes, HASH_SPEC, NAME_LEN);
    let cipher = format!("{}-{}", text(bytes, CIPHER_NAME, NAME_LEN), text(bytes, CIPHER_MODE, NAME_LEN));
    let slot = |number| key_slot(bytes, number, &cipher, &hash);
    let slots = (0..SLOTS).map(slot).collect::<Read<_>>()?;
    Ok(Luks {
        version: 1,
        cipher,
        key_len: key_len as usize,
        sector: SECTOR as u32,
        iv_offset: 0,
        payload_offset: u64::from(be32(bytes, PAYLOAD_OFFSET)) * SECTOR as u64,
        payload_len: None,
        uuid: text(bytes, UUID, UUID_LEN),
        digest: KeyDigest {
            hash,
            iterations,
            salt: array(bytes, MK_DIGEST_SALT),
            value: bytes[MK_DIGEST..MK_DIGEST + MK_DIGEST_LEN].to_vec(),
        },
        slots,
        is_other_damaged: false,
    })
}

/// Reads key slot `number` of the header in `bytes`. The header has the `cipher` and the `hash` of all slots.
fn key_slot(bytes: &[u8], number: usize, cipher: &str, hash: &str) -> Read<KeySlot> {
    let at = KEY_SLOTS + number * SLOT_LEN;
    let (active, iterations, stripes) =
        (be32(bytes, at) == ACTIVE, be32(bytes, at + ITERATIONS), be32(bytes, at + STRIPES));
    let corrupt = |what: &str| Err(Fault::Corrupt(at as u64, format!("LUKS key slot {number} has {what}")));
    if active && iterations == 0 {
        return corrupt("no iterations");
    }
    if active && stripes == 0 {
        return corrupt("no stripes");
    }
    if active && stripes > MAX_STRIPES {
        let what = format!("LUKS key slot {number} has {stripes} stripes, more than {MAX_STRIPES}");
        return Err(Fault::Limit(0, what));
    }
    Ok(KeySlot {
        active,
        kdf: Kdf::Pbkdf2 { hash: hash.to_owned(), iterations },
        salt: array(bytes, at + SALT),
        cipher: cipher.to_owned(),
        derived_len: be32(bytes, KEY_BYTES) as usize,
        offset: u64::from(be32(bytes, at + KEY_MATERIAL_OFFSET)) * SECTOR as u64,
        stripes,
        hash: hash.to_owned(),
    })
}
