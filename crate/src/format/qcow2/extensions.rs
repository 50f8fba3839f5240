//! Header extensions (specification: "Header extensions"): a list of (type, length, data) after the header. Version 2
//! images may have them, too. With fields of the header, they describe the encryption, the backing file and the data file.

use super::structures::{
    BACKING_FORMAT, BITMAPS, BitmapsExtension, DATA_FILE_NAME, ENCRYPTION_HEADER, EXTENSIONS_END,
    EncryptionHeaderPointer, ExtensionHeader, FEATURE_NAMES, FeatureName, INCOMPATIBLE, Qcow2Header,
};
use crate::crypt::{Encryption, luks};
use crate::disk::reference::{Reference, Role};
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result, corrupt};
use crate::io::source::Source;
use crate::offsets::{ByteRange, HostOffset, text_before_nul};

/// QEMU writes version 1 only.
const NEWEST_LUKS: u16 = 1;
/// Maximum length of a backing file name in the specification, in bytes.
const MAX_BACKING_NAME: usize = 1023;

/// The extensions needed for reading.
#[derive(Debug, Default)]
pub(crate) struct HeaderExtensions {
    /// Names of incompatible features: (bit, name).
    pub(crate) incompatible_names: Vec<(u8, String)>,
    /// The format of the backing file, as for `qemu-img -F`.
    pub(crate) backing_format: Option<String>,
    /// The name of the data file.
    pub(crate) data_file: Option<String>,
    /// The range of the LUKS header.
    pub(crate) encryption_header: Option<ByteRange>,
    /// The place of the directory of bitmaps. Only a check reads it.
    pub(crate) bitmaps: Option<BitmapsExtension>,
}

/// Parses the extensions in the image's first cluster. Fails with `corrupt` if one exceeds the header, or the LUKS
/// header's range is invalid.
pub(super) fn parse(header: &Qcow2Header, first_cluster: &[u8]) -> Result<HeaderExtensions> {
    let mut found = HeaderExtensions::default();
    let end = match header.backing_file_offset {
        0 => first_cluster.len(),
        name => first_cluster.len().min(usize::try_from(name).unwrap_or(usize::MAX)),
    };
    let mut at = header.header_length as usize;
    while at + ExtensionHeader::LEN <= end {
        let ExtensionHeader { extension_type: kind, length } = ExtensionHeader::parse(&first_cluster[at..]);
        let len = length as usize;
        if kind == EXTENSIONS_END {
            break;
        }
        let data = at + ExtensionHeader::LEN;
        if len > end - data {
            return Err(Error::corrupt(
                format!("a header extension of {len} bytes does not fit into the header"),
                HostOffset(at as u64),
            ));
        }
        let content = &first_cluster[data..data + len];
        match kind {
            FEATURE_NAMES => found.incompatible_names = feature_names(content),
            BACKING_FORMAT => found.backing_format = Some(text_before_nul(content)),
            DATA_FILE_NAME => found.data_file = Some(text_before_nul(content)),
            ENCRYPTION_HEADER => found.encryption_header = Some(encryption_header(header, content, at as u64)?),
            BITMAPS => found.bitmaps = Some(BitmapsExtension::parse_start(content)),
            _ => {}
        }
        at = data + len.next_multiple_of(8);
    }
    Ok(found)
}

fn encryption_header(header: &Qcow2Header, content: &[u8], at: u64) -> Result<ByteRange> {
    if content.len() < EncryptionHeaderPointer::LEN {
        return corrupt("the encryption header's extension is too short", at);
    }
    let pointer = EncryptionHeaderPointer::parse(content);
    let start = HostOffset(pointer.offset);
    let range =
        ByteRange::new(start, pointer.length).ok_or_else(|| Error::impossible_position("encryption header", start))?;
    if !header.is_aligned(range.start.0) {
        return corrupt("the encryption header is not aligned to a cluster", at);
    }
    Ok(range)
}

fn feature_names(table: &[u8]) -> Vec<(u8, String)> {
    table
        .chunks_exact(FeatureName::LEN)
        .map(FeatureName::parse)
        .filter(|entry| entry.feature_type == INCOMPATIBLE)
        .map(|entry| (entry.bit, text_before_nul(&entry.name)))
        .collect()
}

/// Reads the image's encryption ("Full disk encryption header pointer"); `None` if it is not encrypted. Fails with `unsupported`
/// or `corrupt`, or as reading the LUKS header does.
pub(super) async fn encryption(
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

/// Returns the references to the data file ("External data file name") and the backing file ("Backing file name"). Fails with
/// `unsupported` or `corrupt`.
pub(super) fn references(
    header: &Qcow2Header,
    extensions: &HeaderExtensions,
    first_cluster: &[u8],
) -> Result<Vec<Reference>> {
    let mut references = Vec::new();
    match (header.has_data_file(), &extensions.data_file) {
        (false, _) => {}
        (true, Some(name)) if !name.is_empty() => {
            let file = Reference::by_qemu(Role::DataFile, name.clone(), Some("raw".to_owned()))?;
            references.push(Reference { begins_disk: true, ..file });
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
