//! Keys of encrypted layers, and their derivation from passwords. Keys are wiped on drop, and have no `Debug`, so that none
//! appears in a message.

use super::Encryption;
use super::luks::{Luks, refusal};
use crate::error::damage::ensure_possible;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::modules::prepare;
use crate::offsets::{ByteRange, HostOffset};
use decant_crypt::{Answer, MAX_ANSWER, MODULE, Unlocking, legacy_key};
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// The key of one layer, with its cipher: see [`decant_crypt::CipherSpec::with_key`].
#[derive(Clone, Serialize, Deserialize, ZeroizeOnDrop)]
pub struct CipherKey(pub Vec<u8>);

/// The keys of an image's encrypted layers, top layer first.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Keys(pub Vec<CipherKey>);

impl Keys {
    /// Serialises the keys for other workers. The receiver must wipe the bytes. Fails with `internal`.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        postcard::to_allocvec(self).map(Zeroizing::new).map_err(|_| internal())
    }

    /// Deserialises the result of `to_bytes`. Fails with `internal` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| internal())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

fn internal() -> Error {
    Error::new(ErrorKind::Internal, "Keys could not be passed between workers")
}

/// Called regularly with the completed fraction of the work (0 to 1). Yields to other tasks, and fails with `cancelled`
/// after a cancel.
pub(crate) type YieldPoint = dyn Fn(f64) -> LocalBoxFuture<'static, Result<()>>;

/// Derives the key of an encrypted layer from a password, for key slots of LUKS and the legacy method of qcow2. It may take
/// seconds: it calls `yield_point` several times a second. Fails with `password` if the password is wrong, with `limit` if the
/// image requires too many iterations or too much memory, with `unsupported` for an unknown cipher or hash, with `corrupt` or
/// `source` if key material cannot be read, and as `yield_point` does. The legacy method cannot verify a password.
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
    let mut unlocking = Unlocking::new(&luks.start, luks.len, password).map_err(Error::from)?;
    let mut input = Vec::new();
    loop {
        let mut answer = Zeroizing::new([0; MAX_ANSWER]);
        let len = unlocking.step(&input, &mut answer[..]).map_err(Error::from)?;
        match Answer::decode(&answer[..len]) {
            Answer::Busy(done, total) => {
                yield_point(done as f64 / total.max(1) as f64).await?;
                input = Vec::new();
            }
            Answer::Needs(offset, len) => {
                let start = HostOffset(at.0.saturating_add(offset));
                let material = ByteRange::new(start, len);
                let material = material.ok_or_else(|| Error::impossible_position("LUKS key slot", start))?;
                // Key slots come before the data, so the size of the disk does not matter.
                ensure_possible("LUKS key slot", start, 0, source.size())?;
                input = read_exact(source, material, "LUKS key slot").await?;
            }
            Answer::Found(key) => return Ok(CipherKey(key.to_vec())),
            answer => return Err(refusal(answer, at)),
        }
    }
}
