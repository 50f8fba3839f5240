//! Reads the header of a dynamic or differencing VHD, and the names of its parent.

use super::structures::{DynamicVhdHeader, HEADER_COOKIE, HEADER_VERSION, ParentLocator, checksum};
use crate::disk::reference::{Identity, Reference, Role, Unidentified, uuid_text};
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result};
use crate::format::raw_disk;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, utf_16};
use decant_text::file_name;

/// Maximum length of a name in a parent locator, in bytes: Windows allows 32,767 UTF-16 units.
const LONGEST_NAME: u64 = 64 << 10;

impl DynamicVhdHeader {
    /// Reads the header at `place`, which the footer of a disk of `disk_size` bytes states. Fails with `corrupt` or
    /// `unsupported`, and as reading does. A salvage accepts a wrong checksum.
    pub(super) async fn read(source: &dyn Source, place: HostOffset, disk_size: u64, salvage: bool) -> Result<Self> {
        const NAME: &str = "dynamic disk header";
        ensure_possible(NAME, place, disk_size, source.size())?;
        let outside = || Error::impossible_position(NAME, place);
        let range = ByteRange::new(place, Self::LEN as u64).ok_or_else(outside)?;
        let bytes = read_exact(source, range, NAME).await?;
        let header = Self::parse(&bytes);
        let field = |offset: u64| HostOffset(place.0 + offset);
        if header.cookie != HEADER_COOKIE {
            return Err(Error::corrupt("the dynamic disk header is missing", place));
        }
        if header.header_version != HEADER_VERSION {
            return Err(Error::unknown_version(format_args!("{:#x}", header.header_version), "the header of a VHD"));
        }
        let sum = checksum(&Self { checksum: 0, ..header }.to_bytes());
        if sum != header.checksum && !salvage {
            return Err(Error::corrupt("the checksum of the header does not match", field(Self::checksum)));
        }
        Ok(header)
    }

    /// Reads the names of the parent. Returns the reference to it.
    pub(super) async fn parent(&self, source: &dyn Source) -> Result<Reference> {
        let mut candidates = Vec::new();
        for bytes in self.parent_locator_entries.chunks_exact(ParentLocator::LEN) {
            if let Some(name) = ParentLocator::parse(bytes).name(source).await?
                && !candidates.contains(&name)
            {
                candidates.push(name);
            }
        }
        let stated = utf_16(&self.parent_unicode_name, u16::from_be_bytes);
        if !stated.is_empty() && !candidates.contains(&stated) {
            candidates.push(stated.clone());
        }
        let identity = uuid_text(&self.parent_unique_id).map(Identity::of_disk);
        let id = identity.as_ref().map_or("", |identity| &identity.id);
        let names = [&*stated, candidates.first().map_or("", String::as_str), id];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned();
        // A null identity means that the parent is a raw disk, as XenServer and libvhd write it.
        let format = identity.is_none().then(|| raw_disk::NAME.to_owned());
        let unidentified = Unidentified::Noticed;
        Ok(Reference { identity, unidentified, ..Reference::named(Role::Parent, name, candidates, format) })
    }
}

impl ParentLocator {
    /// Reads the path of the parent; `None` if there is none, or if it is in a form that is not read.
    async fn name(&self, source: &dyn Source) -> Result<Option<String>> {
        let range = ByteRange::new(HostOffset(self.platform_data_offset), self.platform_data_length.into());
        let Some(range) = range.filter(|range| (1..=LONGEST_NAME).contains(&range.len) && range.end() <= source.size())
        else {
            return Ok(None);
        };
        let text = match &self.platform_code {
            // Relative and absolute paths of Windows.
            b"W2ru" | b"W2ku" => utf_16(&read_exact(source, range, "parent locator").await?, u16::from_le_bytes),
            // A URL of macOS, in UTF-8.
            b"MacX" => {
                let bytes = read_exact(source, range, "parent locator").await?;
                let text = file_name(&bytes);
                let text = text.trim_end_matches('\0');
                text.strip_prefix("file://localhost").or(text.strip_prefix("file://")).unwrap_or(text).to_owned()
            }
            _ => String::new(),
        };
        Ok((!text.is_empty()).then_some(text))
    }
}
