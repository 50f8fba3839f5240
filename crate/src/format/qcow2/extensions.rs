//! Header extensions (specification: "Header extensions"): a list of (type, length, data) after the header. Version 2
//! images may have them, too.

use super::qcow2_header::Qcow2Header;
use crate::error::{Error, Result};
use crate::offsets::{ByteRange, HostOffset, text_before_nul};
use crate::structure::structure;

/// Extension type: the end of the list.
const END: u32 = 0;
/// Extension type: names of feature bits.
const FEATURE_NAMES: u32 = 0x6803_f857;
/// Extension type: format of the backing file.
const BACKING_FORMAT: u32 = 0xe279_2aca;
/// Extension type: name of the data file.
const DATA_FILE: u32 = 0x4441_5441;
/// Extension type: range of the LUKS header.
const ENCRYPTION_HEADER: u32 = 0x0537_be77;

/// The type of incompatible features in the feature name table.
const INCOMPATIBLE: u8 = 0;

structure! {
    /// The start of an extension.
    struct ExtensionHeader: Big {
        extension_type: u32 = 0,
        /// Length of the data, in bytes.
        length: u32 = 4,
    }
}

structure! {
    /// The data of the encryption header's extension: its range in the file.
    struct EncryptionHeaderPointer: Big {
        offset: u64 = 0,
        length: u64 = 8,
    }
}

structure! {
    /// An entry of the feature name table.
    struct FeatureName: Big {
        feature_type: u8 = 0,
        bit: u8 = 1,
        name: [u8; 46] = 2,
    }
}

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
        if kind == END {
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
            DATA_FILE => found.data_file = Some(text_before_nul(content)),
            ENCRYPTION_HEADER => found.encryption_header = Some(encryption_header(header, content, at as u64)?),
            _ => {}
        }
        at = data + len.next_multiple_of(8);
    }
    Ok(found)
}

fn encryption_header(header: &Qcow2Header, content: &[u8], at: u64) -> Result<ByteRange> {
    let corrupt = |what: &str| Err(Error::corrupt(what, HostOffset(at)));
    if content.len() < EncryptionHeaderPointer::LEN {
        return corrupt("the encryption header's extension is too short");
    }
    let pointer = EncryptionHeaderPointer::parse(content);
    let start = HostOffset(pointer.offset);
    let range =
        ByteRange::new(start, pointer.length).ok_or_else(|| Error::impossible_position("encryption header", start))?;
    if !header.is_aligned(range.start.0) {
        return corrupt("the encryption header is not aligned to a cluster");
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
