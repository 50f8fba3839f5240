//! References to the backing file (specification: "Backing file name") and the data file ("External data file name").

use super::extensions::HeaderExtensions;
use super::qcow2_header::Qcow2Header;
use crate::disk::reference::Reference;
use crate::disk::reference::Role;
use crate::error::{Error, Result};
use crate::offsets::{HostOffset, text_before_nul};

/// Maximum length of a backing file name in the specification, in bytes.
const MAX_BACKING_NAME: usize = 1023;

/// Returns the references to the data file and the backing file. Fails with `unsupported` or `corrupt`.
pub(super) fn references(
    header: &Qcow2Header,
    extensions: &HeaderExtensions,
    first_cluster: &[u8],
) -> Result<Vec<Reference>> {
    let mut references = Vec::new();
    match (header.has_data_file(), &extensions.data_file) {
        (false, _) => {}
        (true, Some(name)) if !name.is_empty() => {
            references.push(Reference::by_qemu(Role::DataFile, name.clone(), Some("raw".to_owned()))?);
        }
        (true, _) => return Err(Error::unsupported("an external data file whose name it does not tell")),
    }
    if let Some(name) = backing_name(header, first_cluster)? {
        let format = extensions.backing_format.clone().filter(|format| !format.is_empty());
        references.push(Reference::by_qemu(Role::BackingFile, name, format)?);
    }
    Ok(references)
}

/// Reads the backing file's name from the first cluster; `None` if there is none.
fn backing_name(header: &Qcow2Header, first_cluster: &[u8]) -> Result<Option<String>> {
    let len = header.backing_file_size as usize;
    if header.backing_file_offset == 0 {
        return Ok(None);
    }
    let start = usize::try_from(header.backing_file_offset).unwrap_or(usize::MAX);
    let name = start
        .checked_add(len)
        .filter(|_| len <= MAX_BACKING_NAME)
        .and_then(|end| first_cluster.get(start..end))
        .ok_or_else(|| {
            Error::corrupt(
                "the backing file's name is outside the first cluster",
                HostOffset(Qcow2Header::backing_file_offset),
            )
        })?;
    // QEMU reads the name up to the first NUL, and treats an empty name as none.
    Ok(Some(text_before_nul(name)).filter(|name| !name.is_empty()))
}
