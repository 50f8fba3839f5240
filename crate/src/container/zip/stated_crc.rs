//! The checksum of a stored file. Nothing decodes such a file, so its reader compares the checksum.

use super::{DAMAGED, NAME, of_file};
use crate::compress::crc;
use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::stream::{ByteStream, inspected};

/// The checksum that an archive states for a stored file.
#[derive(Clone)]
pub(crate) struct StatedCrc {
    /// The name and the size of the file, and its CRC-32.
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) crc32: u32,
}

impl StatedCrc {
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Fails with `corrupt` unless `crc32` is the stated checksum.
    pub(crate) fn check(&self, crc32: u32) -> Result<()> {
        if crc32 == self.crc32 {
            return Ok(());
        }
        Err(of_file(ErrorKind::Corrupt, DAMAGED, &self.name, "does not have the checksum that the archive states"))
    }

    /// The notice for a salvage whose bytes have another checksum.
    pub(crate) fn mismatch(&self) -> Notice {
        let message = format!(
            "'{}' in the {NAME} archive does not have the checksum that the archive states: some bytes of the disk are wrong, \
             and it is not known which",
            shown(&self.name)
        );
        Notice::new("checksum-mismatch", message).field("file", &*self.name)
    }

    /// The notice for a conversion that does not read all bytes.
    pub(crate) fn unchecked(&self) -> Notice {
        let message = format!(
            "'{}' was not compared with the checksum in the {NAME} archive, since only parts of it are read",
            shown(&self.name)
        );
        Notice::new("checksum-unchecked", message).field("file", &*self.name)
    }

    /// Compares the bytes of `stream`, which has the whole file, before their last ones are used.
    pub(crate) fn checked(self, stream: Box<dyn ByteStream>) -> Box<dyn ByteStream> {
        let mut found = 0;
        inspected(stream, move |bytes, is_end| {
            found = crc::joined(found, crc::crc32(bytes), bytes.len() as u64);
            if is_end { self.check(found).map_err(|error: Error| error.within_stream(None)) } else { Ok(()) }
        })
    }
}
