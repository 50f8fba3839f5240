//! The check of a block's data (the .xz file format, sections 2.1.1.2 and 3.4).

use crate::crc64::Crc64;
use decant_codec::crc;
use decant_module::{Fault, StreamFeature};
use sha2::{Digest, Sha256};

/// The type of the checks in a stream.
#[derive(Clone, Copy, Default)]
pub(super) enum CheckType {
    #[default]
    None,
    Crc32,
    Crc64,
    Sha256,
}

impl CheckType {
    pub(super) fn by_id(id: u8) -> Result<Self, Fault> {
        match id {
            0x00 => Ok(Self::None),
            0x01 => Ok(Self::Crc32),
            0x04 => Ok(Self::Crc64),
            0x0a => Ok(Self::Sha256),
            _ => Err(Fault::Unsupported(StreamFeature::Check, id.into())),
        }
    }

    /// Length of the check in bytes.
    pub(super) fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => 4,
            Self::Crc64 => 8,
            Self::Sha256 => 32,
        }
    }

    pub(super) fn begin(self) -> Check {
        match self {
            Self::None => Check::None,
            Self::Crc32 => Check::Crc32(0),
            Self::Crc64 => Check::Crc64(Crc64::default()),
            Self::Sha256 => Check::Sha256(Sha256::new()),
        }
    }
}

/// The check of the data so far.
pub(super) enum Check {
    None,
    Crc32(u32),
    Crc64(Crc64),
    Sha256(Sha256),
}

impl Check {
    pub(super) fn add(&mut self, data: &[u8]) {
        match self {
            Self::None => {}
            Self::Crc32(value) => *value = crc::joined(*value, crc::crc32(data), data.len() as u64),
            Self::Crc64(value) => value.add(data),
            Self::Sha256(hash) => hash.update(data),
        }
    }

    /// Fails unless it equals `stated`.
    pub(super) fn verify(&mut self, stated: &[u8]) -> Result<(), Fault> {
        let is_equal = match self {
            Self::None => true,
            Self::Crc32(value) => value.to_le_bytes() == stated,
            Self::Crc64(value) => value.value().to_le_bytes() == stated,
            Self::Sha256(hash) => hash.finalize_reset()[..] == *stated,
        };
        if is_equal { Ok(()) } else { Err(Fault::Checksum) }
    }
}
