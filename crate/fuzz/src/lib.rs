//! Runs inputs, for the fuzz targets and for the tests of the stored corpus.

pub mod bases;
pub mod changes;
pub mod checksum;
pub mod containers;
#[path = "../../tests/common/conversion.rs"]
pub mod conversion;
#[path = "../../tests/outputs/dynamic_vhd.rs"]
pub mod dynamic_vhd;
pub mod examine;
pub mod files;
pub mod luks;
#[path = "../../tests/common/luks.rs"]
pub mod luks_writer;
pub mod memory;
#[path = "../../tests/common/opened.rs"]
pub mod opened;
pub mod outputs;
#[path = "../../tests/common/parallels.rs"]
pub mod parallels;
#[path = "../../tests/common/qed.rs"]
pub mod qed;
pub mod reference;
#[path = "../../tests/common/small.rs"]
pub mod small;
pub mod spans;
pub mod tally;
#[path = "../../tests/common/vdi.rs"]
pub mod vdi;
#[path = "../../tests/common/vhd.rs"]
pub mod vhd;
#[path = "../../tests/common/vhdx.rs"]
pub mod vhdx;
pub mod vhdx_images;
pub mod vmdk_bases;
#[path = "../../tests/common/vmdk.rs"]
pub mod vmdk_writer;
#[path = "../../tests/common/written.rs"]
pub mod written;
#[path = "../../tests/common/zip.rs"]
pub mod zip_writer;
pub mod zips;

use examine::{Seen, examine};
use files::Files;

/// Interprets `input` as an image. It is its own companion, too, so that chains are tried.
pub fn file(input: &[u8]) -> Seen {
    let itself = input.to_vec();
    let companions = vec![("base".to_owned(), itself.clone()), ("raw".to_owned(), vec![0x77; 3000])];
    examine(&Files { image: itself.into(), companions, password: Some(bases::PASSWORD.to_vec()) })
}

/// Interprets `input` as changes to one of the valid images.
pub fn changed_image(input: &[u8]) -> Seen {
    let Some((&base, changes)) = input.split_first() else { return Seen::default() };
    let files = bases::base(base);
    let image = changes::apply(files.image.to_vec(), changes).into();
    examine(&Files { image, ..files })
}

/// Interprets `input` as changes to a VMDK: every second time, to the file of its first extent, if there is one.
pub fn changed_vmdk(input: &[u8]) -> Seen {
    let Some((&base, changes)) = input.split_first() else { return Seen::default() };
    let mut files = vmdk_bases::base(base);
    match files.companions.first_mut() {
        Some((_, extent)) if base >= 128 => *extent = changes::apply(std::mem::take(extent), changes),
        _ => files.image = changes::apply(files.image.to_vec(), changes).into(),
    }
    examine(&files)
}
