//! LUKS volumes, as small as possible: one key slot of one stripe.

use super::small::changed;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use sha2::{Digest, Sha256};

pub const PASSWORD: &[u8] = b"secret";
/// The length of a copy of a LUKS2 header, and of its binary part.
pub const COPY: usize = 16 << 10;
pub const BINARY: usize = 4096;
/// Offset of the key material of LUKS2.
pub const MATERIAL: usize = 2 * COPY;
/// Offset of the payload of LUKS2, and of LUKS1.
pub const PAYLOAD: usize = MATERIAL + 512;
pub const PAYLOAD_1: usize = 1536;
pub const ITERATIONS: u32 = 10;

pub const SALT: [u8; 32] = [3; 32];

/// The key: two of AES-128, for the data and for tweaks.
pub fn key() -> Vec<u8> {
    (1..=32).collect()
}

/// A disk of eight sectors of 512 bytes.
pub fn disk() -> Vec<u8> {
    (0..4096).map(|at| (at / 7) as u8).collect()
}

pub fn derived(password: &[u8], len: usize) -> Vec<u8> {
    let mut key = vec![0; len];
    pbkdf2::pbkdf2_hmac::<Sha256>(password, &SALT, ITERATIONS, &mut key);
    key
}

/// Encrypts sectors of `len` bytes by XTS (IEEE 1619) with plain64; `first` is the number of the first 512 bytes.
pub fn encrypted(key: &[u8], len: usize, first: u64, mut bytes: Vec<u8>) -> Vec<u8> {
    let cipher = |key: &[u8]| Aes128::new(&Array::try_from(key).unwrap());
    let (data, tweak) = (cipher(&key[..16]), cipher(&key[16..]));
    for (number, sector) in bytes.chunks_exact_mut(len).enumerate() {
        let mut block = Block::default();
        block[..8].copy_from_slice(&first.wrapping_add((number * len / 512) as u64).to_le_bytes());
        tweak.encrypt_block(&mut block);
        let mut mask = u128::from_le_bytes(block.0);
        for part in sector.as_chunks_mut::<16>().0 {
            let mut block = Block::from((u128::from_le_bytes(*part) ^ mask).to_le_bytes());
            data.encrypt_block(&mut block);
            *part = (u128::from_le_bytes(block.0) ^ mask).to_le_bytes();
            mask = mask << 1 ^ if mask >> 127 == 1 { 0x87 } else { 0 };
        }
    }
    bytes
}

/// The key, encrypted by the password.
fn material() -> Vec<u8> {
    let mut material = vec![0; 512];
    material[..32].copy_from_slice(&key());
    encrypted(&derived(PASSWORD, 32), 512, 0, material)
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let signs = |three: &[u8]| {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        (0..4).map(move |at| (at, bits >> (18 - 6 * at) & 63))
    };
    let text = |three: &[u8]| -> String {
        signs(three).map(|(at, bits)| if at > three.len() { '=' } else { SIGNS[bits as usize].into() }).collect()
    };
    bytes.chunks(3).map(text).collect()
}

/// A LUKS1 volume of `disk`.
pub fn luks1() -> Vec<u8> {
    let be32 = |number: u32| number.to_be_bytes();
    let slot = 208;
    let header = changed(
        vec![0; PAYLOAD_1],
        &[
            (0, b"LUKS\xba\xbe\0\x01aes"),
            (40, b"xts-plain64"),
            (72, b"sha256"),
            (104, &be32(PAYLOAD_1 as u32 / 512)),
            (108, &be32(32)),
            (112, &derived(&key(), 20)),
            (132, &SALT),
            (164, &be32(ITERATIONS)),
            (168, b"00000000-0000-4000-8000-000000000001"),
            (slot, &be32(0x00ac_71f3)),
            (slot + 4, &be32(ITERATIONS)),
            (slot + 8, &SALT),
            (slot + 40, &be32(2)),
            (slot + 44, &be32(1)),
            (1024, &material()),
        ],
    );
    [header, encrypted(&key(), 512, 0, disk())].concat()
}

/// The JSON of a LUKS2 header, on one line.
pub fn json() -> String {
    let (salt, digest) = (base64(&SALT), base64(&derived(&key(), 32)));
    let slot = format!(
        r#"{{"type":"luks2","key_size":32,"af":{{"type":"luks1","stripes":1,"hash":"sha256"}},"area":{{"type":"raw","offset":"{MATERIAL}","size":"512","encryption":"aes-xts-plain64","key_size":32}},"kdf":{{"type":"pbkdf2","hash":"sha256","iterations":{ITERATIONS},"salt":"{salt}"}}}}"#
    );
    let segment = format!(
        r#"{{"type":"crypt","offset":"{PAYLOAD}","size":"dynamic","iv_tweak":"0","encryption":"aes-xts-plain64","sector_size":512}}"#
    );
    let digest = format!(
        r#"{{"type":"pbkdf2","keyslots":["0"],"segments":["0"],"hash":"sha256","iterations":{ITERATIONS},"salt":"{salt}","digest":"{digest}"}}"#
    );
    format!(
        r#"{{"keyslots":{{"0":{slot}}},"tokens":{{}},"segments":{{"0":{segment}}},"digests":{{"0":{digest}}},"config":{{"json_size":"12288","keyslots_size":"512"}}}}"#
    )
}

/// `json` with texts in it replaced.
pub fn json_with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(json(), |json, (before, after)| {
        assert!(json.contains(before), "{before} in {json}");
        json.replace(before, after)
    })
}

/// The copies of a LUKS2 header, with these sequence numbers.
pub fn copies(json: &str, sequence: [u64; 2]) -> Vec<u8> {
    let copy = |number: usize| {
        let magic = [b"LUKS\xba\xbe\0\x02", b"SKUL\xba\xbe\0\x02"][number];
        changed(
            vec![0; COPY],
            &[
                (0, magic),
                (8, &(COPY as u64).to_be_bytes()),
                (16, &sequence[number].to_be_bytes()),
                (72, b"sha256"),
                (168, b"00000000-0000-4000-8000-000000000002"),
                (256, &((number * COPY) as u64).to_be_bytes()),
                (BINARY, json.as_bytes()),
            ],
        )
    };
    summed([copy(0), copy(1)].concat())
}

/// Corrects the checksums of the two copies of a LUKS2 header, as far as they are in `file`.
pub fn summed(mut file: Vec<u8>) -> Vec<u8> {
    for copy in file.chunks_exact_mut(COPY).take(2) {
        copy[448..512].fill(0);
        let sum = Sha256::digest(&*copy);
        copy[448..480].copy_from_slice(&sum);
    }
    file
}

/// A LUKS2 volume of `disk` with sectors of `sector` bytes, whose numbers begin at `iv_tweak`.
pub fn luks2_of(json: &str, sector: usize, iv_tweak: u64) -> Vec<u8> {
    [copies(json, [5, 5]), material(), encrypted(&key(), sector, iv_tweak, disk())].concat()
}

pub fn luks2() -> Vec<u8> {
    luks2_of(&json(), 512, 0)
}
