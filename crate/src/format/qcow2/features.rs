//! Feature bits (specification: "Header", bytes 72 to 95), and what is not read yet.

use super::extensions::Extensions;
use super::header::Header;
use crate::error::{Error, Result};
use crate::units::{HostOffset, be32};

const DIRTY: u64 = 1 << 0;
const CORRUPT: u64 = 1 << 1;
const DATA_FILE: u64 = 1 << 2;
const COMPRESSION_TYPE: u64 = 1 << 3;
const EXTENDED_L2: u64 = 1 << 4;
const LAZY_REFCOUNTS: u64 = 1 << 0;

/// Bits that say something about the image's upkeep and do not hinder reading.
const HARMLESS: u64 = DIRTY | CORRUPT;

/// The feature bits that are set, by name.
pub(super) fn names(header: &Header) -> Vec<String> {
    let set = |bits: u64, mask: u64, name: &str| (bits & mask != 0).then(|| name.to_owned());
    [
        set(header.incompatible, DIRTY, "dirty"),
        set(header.incompatible, CORRUPT, "corrupt"),
        set(header.compatible, LAZY_REFCOUNTS, "lazy refcounts"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Refuses, by name, what changes the meaning of the image and is not read.
pub(super) fn refuse_unread(header: &Header, extensions: &Extensions, first_cluster: &[u8]) -> Result<()> {
    match (header.incompatible & COMPRESSION_TYPE != 0, header.compression_type) {
        (false, 0) => {}
        (true, 1) => return Err(Error::unsupported("zstd compression")),
        (true, 2..) => {
            return Err(Error::unsupported(format!("compression type {}", header.compression_type)));
        }
        (true, 0) | (false, 1..) => {
            return Err(Error::corrupt(
                format!("compression type {} contradicts the feature bits", header.compression_type),
                HostOffset(104),
            ));
        }
    }
    for (bit, name) in [(EXTENDED_L2, "extended L2 entries"), (DATA_FILE, "an external data file")] {
        if header.incompatible & bit != 0 {
            return Err(Error::unsupported(name));
        }
    }
    let known = HARMLESS | DATA_FILE | COMPRESSION_TYPE | EXTENDED_L2;
    let unknown = header.incompatible & !known;
    if unknown != 0 {
        let bit = unknown.trailing_zeros() as u8;
        let name = extensions.incompatible_names.iter().find(|(named, _)| *named == bit);
        return Err(Error::unsupported(match name {
            Some((_, name)) => format!("the incompatible feature '{name}' (bit {bit})"),
            None => format!("an unknown incompatible feature (bit {bit})"),
        }));
    }
    match header.encryption {
        0 => {}
        1 => return Err(Error::unsupported("AES encryption")),
        2 => return Err(Error::unsupported("LUKS encryption")),
        other => return Err(Error::unsupported(format!("encryption method {other}"))),
    }
    if header.backing_name_offset != 0 {
        return Err(Error::unsupported(format!("a backing file, '{}',", backing_name(header, first_cluster)?)));
    }
    Ok(())
}

/// The longest name of a backing file that the specification allows, in bytes.
const MAX_BACKING_NAME: usize = 1023;

/// The name of the backing file (specification: "Backing file name"), which lies in cluster 0.
fn backing_name(header: &Header, first_cluster: &[u8]) -> Result<String> {
    let len = be32(first_cluster, 16) as usize;
    let start = usize::try_from(header.backing_name_offset).unwrap_or(usize::MAX);
    start
        .checked_add(len)
        .filter(|_| len <= MAX_BACKING_NAME)
        .and_then(|end| first_cluster.get(start..end))
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .ok_or_else(|| Error::corrupt("the backing file's name lies outside the first cluster", HostOffset(8)))
}
