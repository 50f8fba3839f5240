//! VHD ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006), fixed or dynamic.

mod dynamic_vhd;
mod fixed_vhd;
mod new_footer;

use super::OutputFormat;
use super::options::{self, FormatOption};
use crate::error::{Error, ErrorKind, Result};
use crate::format::vhd;
use dynamic_vhd::DynamicVhd;
use fixed_vhd::FixedVhd;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "vpc",
    aliases: vhd::FORMAT.aliases,
    label: "VHD",
    hint: "For Azure",
    extensions: vhd::FORMAT.extensions,
    options: &[FormatOption::new("subformat", &["fixed", "dynamic"]), FormatOption::new("force_size", &["on"])],
    implied: &[&options::OF_FILE],
    recommended: &[],
    has_footer: true,
    layout: |virtual_size, options| {
        Ok(match options.get("subformat") {
            "dynamic" => Box::new(DynamicVhd::new(virtual_size)?),
            _ => Box::new(FixedVhd::new(virtual_size)?),
        })
    },
};

const GIB: u64 = 1 << 30;
/// Maximum size of a disk, in GiB.
const MOST_GIB: u64 = 2040;

/// Fails with `limit` if a VHD cannot hold a disk of `virtual_size` bytes.
fn check_size(virtual_size: u64) -> Result<()> {
    if virtual_size <= MOST_GIB * GIB {
        return Ok(());
    }
    let message = format!(
        "A VHD holds at most 2040 GiB, but the disk has {} GiB; choose another output format",
        virtual_size.div_ceil(GIB)
    );
    Err(Error::new(ErrorKind::Limit, message).coded("vhd-too-large").field("size", virtual_size))
}
