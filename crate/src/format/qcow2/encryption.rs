//! Encryption (specification: "Header", `crypt_method`, and "Full disk encryption header pointer").

use super::extensions::Extensions;
use super::header::Header;
use crate::error::{Error, Result};
use crate::format::luks::Luks;
use crate::image::{EncryptionInfo, LuksInfo, SlotInfo};
use crate::source::Source;
use crate::units::{ByteRange, HostOffset};

/// How an image is encrypted.
#[derive(Clone, Debug)]
pub enum Encryption {
    /// The legacy method: AES-128-CBC, the password is the key, sectors are numbered by the guest.
    Aes,
    /// LUKS1, sectors are numbered by their place in the file.
    Luks {
        /// The header.
        header: Box<Luks>,
        /// Where it lies, with its key material.
        place: ByteRange,
    },
}

/// What the header says about encryption.
pub(super) async fn read(source: &dyn Source, header: &Header, extensions: &Extensions) -> Result<Option<Encryption>> {
    match (header.encryption, extensions.encryption_header) {
        (0, _) => Ok(None),
        (1, _) => Ok(Some(Encryption::Aes)),
        (2, Some(place)) => Ok(Some(Encryption::Luks { header: Box::new(Luks::read(source, place).await?), place })),
        (2, None) => Err(Error::corrupt("the image does not say where its LUKS header lies", HostOffset(32))),
        (other, _) => Err(Error::unsupported(format!("encryption method {other}"))),
    }
}

impl Encryption {
    /// Whether a sector's number is that on the disk.
    pub fn is_by_guest(&self) -> bool {
        matches!(self, Self::Aes)
    }

    /// As `info` tells it.
    pub fn info(&self) -> EncryptionInfo {
        match self {
            Self::Aes => EncryptionInfo { format: "aes", luks: None },
            Self::Luks { header, .. } => EncryptionInfo { format: "luks", luks: Some(luks_info(header)) },
        }
    }
}

fn luks_info(luks: &Luks) -> LuksInfo {
    let (mode, iv) = luks.cipher_mode.split_once('-').unwrap_or((&luks.cipher_mode, ""));
    let (iv, iv_hash) = iv.split_once(':').map_or((iv, None), |(iv, hash)| (iv, Some(hash)));
    let keys = if mode == "xts" { 2 } else { 1 };
    LuksInfo {
        cipher: format!("{}-{}", luks.cipher_name, luks.key_bytes * 8 / keys),
        mode: mode.to_owned(),
        iv: iv.to_owned(),
        iv_hash: iv_hash.map(str::to_owned),
        hash: luks.hash_name.clone(),
        uuid: luks.uuid.clone(),
        payload_offset: luks.payload_offset,
        master_key_iterations: luks.digest_iterations,
        slots: luks
            .slots
            .iter()
            .map(|slot| SlotInfo {
                active: slot.active,
                iterations: slot.iterations,
                key_offset: slot.key_offset,
                stripes: slot.stripes,
            })
            .collect(),
    }
}
