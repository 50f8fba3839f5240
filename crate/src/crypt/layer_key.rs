//! Derives keys from passwords, for key slots of LUKS and the legacy method of qcow2. It may take seconds, so it reports
//! progress and can be cancelled.

use super::Encryption;
use super::ciphers::out_of_memory;
use super::keys::CipherKey;
use super::luks::{Luks, refusal};
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::modules::prepare;
use crate::offsets::{ByteRange, HostOffset};
use decant_crypt::{MODULE, legacy_key};
use decant_luks::{Answer, MAX_ANSWER, Unlocking};
use futures_util::future::LocalBoxFuture;
use zeroize::Zeroizing;

/// Called regularly with the completed fraction of the work (0 to 1). Yields to other tasks, and fails with `cancelled`
/// after a cancel.
pub(crate) type YieldPoint = dyn Fn(f64) -> LocalBoxFuture<'static, Result<()>>;

/// Returns the key of an encrypted layer. Calls `yield_point` several times a second. Fails with
/// `password` if the password is wrong, with `limit` if the image requires too many iterations or too much memory, with
/// `unsupported` for an unknown cipher or hash, with `corrupt` or `source` if key material cannot be read, and as
/// `yield_point` does. The legacy method cannot verify a password.
pub(crate) async fn unlock(
    encryption: &Encryption,
    source: &dyn Source,
    password: &[u8],
    yield_point: &YieldPoint,
) -> Result<CipherKey> {
    match encryption {
        Encryption::Aes => Ok(CipherKey(legacy_key(password))),
        Encryption::Luks { header, place } => unlock_luks(header, place.start, source, password, yield_point).await,
    }
}

async fn unlock_luks(
    luks: &Luks,
    at: HostOffset,
    source: &dyn Source,
    password: &[u8],
    yield_point: &YieldPoint,
) -> Result<CipherKey> {
    prepare(&MODULE).await?;
    let mut unlocking = Unlocking::new(&luks.start, luks.len, password).map_err(out_of_memory)?;
    let mut input = Vec::new();
    loop {
        let mut answer = Zeroizing::new([0; MAX_ANSWER]);
        let len = unlocking.step(&input, &mut answer[..]).map_err(out_of_memory)?;
        match Answer::decode(&answer[..len]) {
            Answer::Busy(done, total) => {
                yield_point(done as f64 / total.max(1) as f64).await?;
                input = Vec::new();
            }
            Answer::Needs(offset, len) => {
                let start = HostOffset(at.0.saturating_add(offset));
                let material = ByteRange::new(start, len);
                let material = material.ok_or_else(|| Error::impossible_position("LUKS key slot", start))?;
                // Key slots are before the data, so the size of the disk has no part in it.
                ensure_possible("LUKS key slot", start, 0, source.size())?;
                input = read_exact(source, material, "LUKS key slot").await?;
            }
            Answer::Found(key) => return Ok(CipherKey(key.to_vec())),
            answer => return Err(refusal(answer, at)),
        }
    }
}
