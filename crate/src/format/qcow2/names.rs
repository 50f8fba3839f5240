//! The names of other files: the backing file (specification: "Backing file name") and the data
//! file ("External data file name").

use super::extensions::Extensions;
use super::header::Header;
use crate::error::{Error, Result};
use crate::format::{Reference, References};
use crate::units::HostOffset;

/// The longest name of a backing file that the specification allows, in bytes.
const MAX_BACKING_NAME: usize = 1023;

/// The files that the image names.
pub(super) fn references(header: &Header, extensions: &Extensions, first_cluster: &[u8]) -> Result<References> {
    let backing_file = backing_name(header, first_cluster)?
        .map(|name| Reference { name, format: extensions.backing_format.clone().filter(|format| !format.is_empty()) });
    let data_file = match (header.has_data_file(), &extensions.data_file) {
        (false, _) => None,
        (true, Some(name)) if !name.is_empty() => {
            Some(Reference { name: name.clone(), format: Some("raw".to_owned()) })
        }
        (true, _) => return Err(Error::unsupported("an external data file whose name it does not tell")),
    };
    Ok(References { backing_file, data_file })
}

/// The name of the backing file, which lies in the first cluster.
fn backing_name(header: &Header, first_cluster: &[u8]) -> Result<Option<String>> {
    let len = header.backing_name_len as usize;
    if header.backing_name_offset == 0 {
        return Ok(None);
    }
    let start = usize::try_from(header.backing_name_offset).unwrap_or(usize::MAX);
    let name = start
        .checked_add(len)
        .filter(|_| len <= MAX_BACKING_NAME)
        .and_then(|end| first_cluster.get(start..end))
        .ok_or_else(|| Error::corrupt("the backing file's name lies outside the first cluster", HostOffset(8)))?;
    // QEMU reads it up to a zero byte, and takes an empty name for none.
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok((!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned()))
}
