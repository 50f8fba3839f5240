//! Derives keys from passwords, for LUKS1 key slots ("LUKS On-Disk Format", version 1.2) and the legacy method of
//! qcow2.

use super::Encryption;
use super::ciphers::{Ciphers, out_of_memory};
use super::derive::{Iterations, YieldPoint, pbkdf2};
use super::keys::{CipherKey, Keys};
use super::luks::{Luks, Slot};
use crate::error::damage::ensure_possible;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact, zeroed};
use crate::modules::prepare;
use crate::offsets::ByteRange;
use decant_crypt::{BlockCipher, CipherSpec, Hash, IvGenerator, MODULE, Mode, merge};
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
    prepare(&MODULE).await?;
    let parts = |len: usize| len.div_ceil(hash.output_len()) as u64;
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
    // Key slots are before the data, so the size of the disk has no part in it.
    ensure_possible("LUKS key slot", material.start, 0, source.size())?;
    let material = read_exact(source, material, "LUKS key slot").await?;
    let mut split = Zeroizing::new(zeroed(material.len())?);
    Ciphers::new(&Keys(vec![derived])).decrypt(0, 0, &material, &mut split)?;
    let mut master = Zeroizing::new(vec![0; luks.key_bytes]);
    let len = luks.key_bytes * slot.stripes as usize;
    merge(hash, &split[..len], &mut master).map_err(out_of_memory)?;
    let mut digest = [0; DIGEST];
    pbkdf2(hash, &master, &luks.digest_salt, luks.digest_iterations, &mut digest, count).await?;
    Ok((digest == luks.digest).then_some(master))
}
