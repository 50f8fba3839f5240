//! Feature bits (specification: "Header", bytes 72 to 95).

use super::extensions::HeaderExtensions;
use super::structures::{
    COMPRESSION_TYPE, CORRUPT, DATA_FILE, DIRTY, EXTENDED_L2, LAZY_REFCOUNTS, Qcow2Header, ZLIB, ZSTD,
};
use crate::compress::Compression;
use crate::error::shown::shown;
use crate::error::{Error, Result};
use crate::offsets::HostOffset;

/// Known incompatible features. Images with them can be read.
const KNOWN: u64 = DIRTY | CORRUPT | DATA_FILE | COMPRESSION_TYPE | EXTENDED_L2;

/// Returns the names of the set feature bits that concern the image's state.
pub(super) fn names(header: &Qcow2Header) -> Vec<String> {
    let set = |bits: u64, mask: u64, name: &str| (bits & mask != 0).then(|| name.to_owned());
    [
        set(header.incompatible_features, DIRTY, "dirty"),
        set(header.incompatible_features, CORRUPT, "corrupt"),
        set(header.compatible_features, LAZY_REFCOUNTS, "lazy refcounts"),
        set(header.compatible_features, !LAZY_REFCOUNTS, "unknown compatible features"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the compression method of clusters. Fails with `unsupported` if it is unknown, and with `corrupt` if it
/// contradicts the feature bits.
pub(super) fn compression(header: &Qcow2Header) -> Result<Compression> {
    match (header.incompatible_features & COMPRESSION_TYPE != 0, header.compression_type) {
        (false, ZLIB) => Ok(Compression::Deflate),
        (true, ZSTD) => Ok(Compression::Zstd),
        (true, 2..) => Err(Error::unsupported(format!("compression type {}", header.compression_type))),
        (true, ZLIB) | (false, 1..) => Err(Error::corrupt(
            format!("compression type {} contradicts the feature bits", header.compression_type),
            HostOffset(Qcow2Header::compression_type),
        )),
    }
}

/// Fails with `unsupported` if the image has an unknown incompatible feature. The message names it.
pub(super) fn refuse_unknown(header: &Qcow2Header, extensions: &HeaderExtensions) -> Result<()> {
    let unknown = header.incompatible_features & !KNOWN;
    if unknown == 0 {
        return Ok(());
    }
    let bit = unknown.trailing_zeros();
    let name = extensions.incompatible_names.iter().find(|(named, _)| u32::from(*named) == bit);
    let what = match name {
        Some((_, name)) => format!("the incompatible feature '{}' (bit {bit})", shown(name)),
        None => format!("an unknown incompatible feature (bit {bit})"),
    };
    Err(Error::unknown_feature(what, bit))
}
