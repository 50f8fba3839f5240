//! The parent locator (MS-VHDX 2.6.2.6): keys and values in UTF-16.

use super::guid::{Guid, guid, shown_guid};
use crate::disk::reference::{Identity, Reference, Role, Unidentified};
use crate::error::{Error, Result};
use crate::offsets::{HostOffset, utf_16};
use crate::structure::structure;

/// The type of all parents in VHDX.
const VHDX: Guid = guid(0xb04a_efb7_d19e_4a81_b789_25b8_e944_5913);
/// The keys of paths, likeliest first.
const PATHS: [&str; 3] = ["relative_path", "volume_path", "absolute_win32_path"];
/// Length of the header, in bytes.
pub(super) const HEADER_SIZE: u64 = LocatorHeader::LEN as u64;

structure! {
    /// "Parent Locator Header" (2.6.2.6.1).
    struct LocatorHeader: Little {
        locator_type: Guid = 0,
        reserved: u16 = 16,
        key_value_count: u16 = 18,
    }
}

structure! {
    /// "Parent Locator Entry" (2.6.2.6.2). Offsets count from the header.
    struct LocatorEntry: Little {
        key_offset: u32 = 0,
        value_offset: u32 = 4,
        key_length: u16 = 8,
        value_length: u16 = 10,
    }
}

/// Parses the parent locator `bytes`, which has at least its header and is at `place`. Returns the reference to the
/// parent. Fails with `corrupt` or `unsupported`.
pub(super) fn parent(bytes: &[u8], place: HostOffset) -> Result<Reference> {
    let (header, entries) = bytes.split_at(LocatorHeader::LEN);
    let header = LocatorHeader::parse(header);
    if header.locator_type != VHDX {
        return Err(Error::unsupported(format!("a parent locator of type {}", shown_guid(&header.locator_type))));
    }
    let entries = entries.as_chunks::<{ LocatorEntry::LEN }>().0;
    let Some(entries) = entries.get(..header.key_value_count.into()) else {
        let what = "the parent locator ends before the end of its entries";
        return Err(Error::corrupt(what, HostOffset(place.0 + LocatorHeader::key_value_count)));
    };
    let text = |offset: u32, len: u16| {
        let bytes = bytes.get(offset as usize..)?.get(..len.into())?;
        Some(utf_16(bytes, u16::from_le_bytes)).filter(|text| !text.is_empty())
    };
    let value = |key: &str| {
        let entries = entries.iter().map(|bytes| LocatorEntry::parse(bytes));
        // Texts of other lengths are not decoded: entries may share one of 64 KiB.
        let mut entries = entries.filter(|entry| usize::from(entry.key_length) == 2 * key.len());
        let entry = entries.find(|entry| text(entry.key_offset, entry.key_length).as_deref() == Some(key))?;
        text(entry.value_offset, entry.value_length)
    };
    let candidates: Vec<String> = PATHS.iter().filter_map(|key| value(key)).collect();
    let linkage = |key: &str| value(key).and_then(|text| guid_of(&text));
    let alternative = linkage("parent_linkage2");
    let identity = linkage("parent_linkage").or_else(|| alternative.clone()).map(Identity::of_disk);
    let identity = identity.map(|identity| Identity { alternative, ..identity });
    let Some(name) = candidates.first().cloned().or(identity.as_ref().map(|identity| identity.id.clone())) else {
        return Err(Error::corrupt("the parent locator names no parent", place));
    };
    // Without an identity, the parent cannot be found by its content.
    let format = identity.is_none().then(|| super::FORMAT.name.to_owned());
    let unidentified = Unidentified::Refused;
    Ok(Reference { identity, unidentified, ..Reference::named(Role::Parent, name, candidates, format) })
}

/// Returns the GUID in `text`, in braces or not, as a file's own GUIDs are formatted; `None` if there is none.
fn guid_of(text: &str) -> Option<String> {
    let text = text.trim_matches(['{', '}']).to_ascii_lowercase();
    let is_guid = text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    (is_guid && text.bytes().any(|byte| !b"-0".contains(&byte))).then_some(text)
}
