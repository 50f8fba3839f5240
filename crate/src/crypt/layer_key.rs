//! Derives keys from passwords, for LUKS1 key slots ("LUKS On-Disk Format", version 1.2) and the legacy method of
//! qcow2.

use super::ciphers::sector_cipher;
use super::derive::{Iterations, YieldPoint, pbkdf2};
use super::keys::{CipherKey, wipe};
use crate::crypt::Encryption;
use crate::crypt::luks::{BlockCipher, CipherSpec, Hash, IvGenerator, Luks, Mode, Slot};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::ByteRange;
use decant_codec::hash::{hash, hash_len};
use zeroize::Zeroizing;

/// Maximum number of iterations for all active key slots together: about two minutes. QEMU and cryptsetup choose a few
/// million, for one or two seconds.
pub(super) const MAX_ITERATIONS: u64 = 200_000_000;

/// Length of a legacy AES key, in bytes. The specification says 256 bits; QEMU uses 128.
const LEGACY_KEY: usize = 16;

/// Returns the key of an encrypted layer. Calls `yield_point` every few milliseconds. Fails with `password` if the
/// password is wrong, with `limit` if the image requires too many iterations, with `unsupported` for an unknown cipher
/// or hash, with `corrupt` or `source` if key material cannot be read, and as `yield_point` does. The legacy method
/// cannot verify a password.
pub(crate) async fn unlock(
    encryption: &Encryption,
    source: &dyn Source,
    password: &[u8],
    yield_point: &YieldPoint,
) -> Result<CipherKey> {
    match encryption {
        Encryption::Aes => Ok(legacy(password)),
        Encryption::Luks { header, place } => unlock_luks(header, *place, source, password, yield_point).await,
    }
}

/// The key is the password, truncated or padded with zeros.
fn legacy(password: &[u8]) -> CipherKey {
    let mut key = vec![0; LEGACY_KEY];
    let len = password.len().min(LEGACY_KEY);
    key[..len].copy_from_slice(&password[..len]);
    let spec = CipherSpec { cipher: BlockCipher::Aes, mode: Mode::Cbc, iv: IvGenerator::Plain64 };
    CipherKey { spec, key }
}

async fn unlock_luks(
    luks: &Luks,
    place: ByteRange,
    source: &dyn Source,
    password: &[u8],
    yield_point: &YieldPoint,
) -> Result<CipherKey> {
    let spec = luks.cipher_spec()?;
    let hash = luks.hash()?;
    let parts = |len: usize| len.div_ceil(hash_len(hash)) as u64;
    let work = |slot: &Slot| {
        u64::from(slot.iterations) * parts(luks.key_bytes) + u64::from(luks.digest_iterations) * parts(DIGEST)
    };
    let total = luks.active_slots().map(work).sum();
    if total > MAX_ITERATIONS {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("The image requires {total} iterations to check a password, more than {MAX_ITERATIONS}"),
        ));
    }
    let mut count = Iterations { done: 0, total, yield_point };
    for slot in luks.active_slots() {
        let opened = open_slot(luks, spec, hash, slot, place, source, password, &mut count).await?;
        if let Some(key) = opened {
            return Ok(CipherKey { spec, key: key.to_vec() });
        }
    }
    Err(Error::new(ErrorKind::Password, "The password is wrong").coded("password-wrong"))
}

/// Length of the digest of the master key, in bytes.
const DIGEST: usize = 20;

/// Returns the master key in `slot`; `None` if `password` does not unlock it.
#[expect(clippy::too_many_arguments, reason = "what an unlocking consists of")]
async fn open_slot(
    luks: &Luks,
    spec: CipherSpec,
    hash: Hash,
    slot: &Slot,
    place: ByteRange,
    source: &dyn Source,
    password: &[u8],
    count: &mut Iterations<'_>,
) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let mut derived = CipherKey { spec, key: vec![0; luks.key_bytes] };
    pbkdf2(hash, password, &slot.salt, slot.iterations, &mut derived.key, count).await?;
    let material = luks.key_material(slot, place)?;
    let len = luks.key_bytes * slot.stripes as usize;
    let mut split = Zeroizing::new(read_exact(source, material, "LUKS key slot").await?);
    sector_cipher(&derived)?.decrypt(0, &mut split);
    let master = merge(hash, &split[..len], luks.key_bytes);
    let mut digest = [0; DIGEST];
    pbkdf2(hash, &master, &luks.digest_salt, luks.digest_iterations, &mut digest, count).await?;
    Ok((digest == luks.digest).then_some(master))
}

/// Reverses the anti-forensic splitting (specification: "Anti-forensic splitting").
fn merge(hash: Hash, split: &[u8], key_len: usize) -> Zeroizing<Vec<u8>> {
    let mut key = Zeroizing::new(vec![0; key_len]);
    let stripes = split.len() / key_len;
    for (number, stripe) in (1..).zip(split.chunks_exact(key_len)) {
        key.iter_mut().zip(stripe).for_each(|(byte, other)| *byte ^= other);
        if number < stripes {
            diffuse(hash, &mut key);
        }
    }
    key
}

fn diffuse(with: Hash, key: &mut [u8]) {
    for (number, part) in (0u32..).zip(key.chunks_mut(hash_len(with))) {
        let mut hashed = hash(with, &[&number.to_be_bytes(), part]);
        part.copy_from_slice(&hashed[..part.len()]);
        wipe(&mut hashed);
    }
}
