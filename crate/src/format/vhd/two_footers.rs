//! Compares the footer at the end of a file with its copy at the start: some programs read one of them, some the other.

use super::vhd_footer::VhdFooter;
use crate::disk::info::Notice;
use crate::error::{Error, Result};
use crate::offsets::HostOffset;

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
