//! Finds the footer of a VHD, and compares it with its copy at the start: some programs read one of them, some the other.

use super::FORMAT;
use super::structures::{FIXED, FOOTER_COOKIE, VhdFooter};
use crate::disk::info::Notice;
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};

/// Length of a footer, in bytes. Old versions of Virtual PC wrote a byte less.
const FOOTER: u64 = VhdFooter::LEN as u64;

/// The position of the footer in `tail`, the last bytes of a file.
pub(super) fn footer_start(tail: &[u8]) -> Option<usize> {
    (0..=1).find(|&start| tail.get(start..).is_some_and(|bytes| bytes.starts_with(&FOOTER_COOKIE)))
}

/// The footer of a fixed disk, at the end of `tail`, the last bytes of a file of `size` bytes: its length and the size of the
/// disk, in bytes. `None` if there is none, or if it is damaged.
pub(super) fn fixed_footer(tail: &[u8], size: u64) -> Option<(usize, u64)> {
    let bytes = &tail[footer_start(tail)?..];
    let footer = VhdFooter::parse_start(bytes);
    let present = size.checked_sub(bytes.len() as u64)?;
    (VhdFooter::is_intact(bytes) && footer.disk_type == FIXED).then(|| (bytes.len(), footer.fixed_size(present)))
}

/// The footer of a file.
pub(super) struct FoundFooter {
    pub(super) footer: VhdFooter,
    /// The end of what it describes, in bytes.
    pub(super) end: u64,
    /// The copy at the start of the file, if it is another one. Only a salvage needs it if one of them is not intact.
    pub(super) copy: Option<VhdFooter>,
    /// Whether both are intact.
    pub(super) are_intact: bool,
}

/// Finds the footer at the end of the file, or the copy at its start if that is the only intact one. Fails with
/// `not-recognised` or `corrupt`, and as reading does. A salvage accepts a wrong checksum.
pub(super) async fn find_footer(source: &dyn Source, salvage: bool) -> Result<FoundFooter> {
    let size = source.size();
    let len = size.min(FOOTER);
    let tail = read_exact(source, ByteRange { start: HostOffset(size - len), len }, "footer").await?;
    let at_end = footer_start(&tail);
    let end = size - len + at_end.unwrap_or_default() as u64;
    let at_end = at_end.map(|start| &tail[start..]);
    let found =
        |bytes: &[u8], end| FoundFooter { footer: VhdFooter::parse_start(bytes), end, copy: None, are_intact: false };
    let head = read_exact(source, ByteRange { start: HostOffset(0), len }, "header").await?;
    let copy = Some(&head[..]).filter(|head| head.starts_with(&FOOTER_COOKIE));
    // A fixed disk has no copy: this is data.
    let other = copy.map(VhdFooter::parse_start).filter(|copy| copy.disk_type != FIXED);
    let is_copy_intact = copy.is_some_and(VhdFooter::is_intact);
    if let Some(bytes) = at_end.filter(|bytes| VhdFooter::is_intact(bytes)) {
        let are_intact = is_copy_intact && other.is_some();
        return Ok(FoundFooter { copy: other, are_intact, ..found(bytes, end) });
    }
    if let Some(bytes) = copy.filter(|_| is_copy_intact) {
        let copy = found(bytes, size);
        // A fixed disk has no copy: this is data, and the footer is missing.
        let is_fixed = copy.footer.disk_type == FIXED;
        return if is_fixed { Err(Error::truncated("the footer", HostOffset(size), size)) } else { Ok(copy) };
    }
    match (at_end, copy) {
        (None, None) => Err(Error::other_format("The file is not a VHD image", FORMAT.name)),
        _ if size < FOOTER => Err(Error::truncated("the end of the header", HostOffset(FOOTER), size)),
        (Some(bytes), _) if salvage => Ok(FoundFooter { copy: other, ..found(bytes, end) }),
        (None, Some(bytes)) if salvage => Ok(found(bytes, size)),
        (at_end, _) => {
            let place = if at_end.is_some() { end } else { 0 };
            let what = "the checksum of the footer does not match";
            Err(Error::corrupt(what, HostOffset(place + VhdFooter::checksum)))
        }
    }
}

/// Compares `footer`, which is at `end`, with `copy`. Both are intact. Returns a notice if programs that read the copy
/// read another disk. Fails with `corrupt` if they read a disk of another size, except in a salvage.
pub(super) fn compare(footer: &VhdFooter, copy: &VhdFooter, end: u64, salvage: bool) -> Result<Option<Notice>> {
    let (size, other_size) = (footer.wanted_size(), copy.wanted_size());
    if size != other_size && !salvage {
        let what = format!("its footers state different sizes: {size} bytes at its end, {other_size} at its start");
        let error = Error::corrupt(what, HostOffset(end + VhdFooter::current_size)).coded("vhd-footers-differ");
        return Err(error.field("size", size).field("otherSize", other_size));
    }
    let differences = [
        ("disk type", footer.disk_type != copy.disk_type),
        ("size", (footer.current_size, size) != (copy.current_size, other_size)),
        ("position of the header", footer.data_offset != copy.data_offset),
        ("UUID", footer.unique_id != copy.unique_id),
    ];
    let names: Vec<_> = differences.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
    Ok((!names.is_empty()).then(|| {
        let names = names.join(", ");
        let message = format!(
            "The footer at the end of the file differs from the one at its start, which some programs read instead: {names}"
        );
        Notice::new("vhd-footers-differ", message).field("differences", &*names)
    }))
}
