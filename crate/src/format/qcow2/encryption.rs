//! Encryption (specification: "Header", `crypt_method`, and "Full disk encryption header pointer").

use super::extensions::HeaderExtensions;
use super::qcow2_header::Qcow2Header;
use crate::crypt::Encryption;
use crate::crypt::luks;
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::offsets::HostOffset;

/// QEMU writes version 1 only.
const NEWEST_LUKS: u16 = 1;

/// Reads the image's encryption; `None` if it is not encrypted. Fails with `unsupported` or `corrupt`, or as reading
/// the LUKS header does.
pub(super) async fn read(
    source: &dyn Source,
    header: &Qcow2Header,
    extensions: &HeaderExtensions,
) -> Result<Option<Encryption>> {
    if header.crypt_method == 0 {
        return Ok(None);
    }
    match (header.crypt_method, extensions.encryption_header) {
        (1, _) => Ok(Some(Encryption::Aes)),
        (2, Some(place)) => {
            ensure_possible("LUKS header", place.start, header.size, source.size())?;
            Ok(Some(Encryption::Luks { header: luks::read(source, place, NEWEST_LUKS).await?, place }))
        }
        (2, None) => Err(Error::corrupt(
            "the image does not have the position of its LUKS header",
            HostOffset(Qcow2Header::crypt_method),
        )),
        (other, _) => Err(Error::unsupported(format!("encryption method {other}"))),
    }
}
