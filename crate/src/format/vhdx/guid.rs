//! GUIDs of regions and metadata items, in the order of the bytes of a file.

use crate::disk::reference::guid_text;
use crate::error::Error;

pub(super) type Guid = [u8; 16];

/// Converts a GUID, whose digits are those of its text. The first three parts are little-endian in files.
pub(super) const fn guid(digits: u128) -> Guid {
    let [a, b, c, d, e, f, g, h, rest @ ..] = digits.to_be_bytes();
    let [i, j, k, l, m, n, o, p] = rest;
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}

/// Formats a GUID for a message.
pub(super) fn shown_guid(guid: &Guid) -> String {
    guid_text(guid).unwrap_or_else(|| "0".to_owned())
}

/// The error for a required region or metadata item (`what`) that is unknown.
pub(super) fn unknown(what: &str, guid: &Guid) -> Error {
    Error::unsupported(format!("the required {what} {}", shown_guid(guid))).coded("unknown-required")
}
