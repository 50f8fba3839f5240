//! The conformance suite for formats and containers. Each has a file here with its images and the positions of their
//! parts, and one line in `suite!`.

mod bzip2;
mod checks;
mod codecs;
mod gzip;
mod luks;
mod lz4;
mod parallels;
mod qcow2;
mod qed;
mod tar;
mod vdi;
mod vhd;
mod vhdx;
mod vmdk;
mod xz;
mod zip;
mod zstd;

use crate::common::Case;
use decant::ErrorKind;
use std::ops::Range;

/// A format of disk images.
struct Format {
    /// The name in the registry.
    name: &'static str,
    samples: fn() -> Vec<Sample>,
    /// Checks images with one changed field, by `check_changes`.
    fields: fn(),
    /// Checks what a salvage leaves of damaged images, by `check_damage`.
    damage: fn(),
    listings: fn() -> Vec<Listing>,
    extremes: fn() -> Vec<Extreme>,
}

/// A container of disk images.
struct Container {
    /// The name in the registry.
    name: &'static str,
    samples: fn() -> Vec<Sample>,
}

/// A small complete file, for truncation and changes.
struct Sample {
    what: String,
    file: Vec<u8>,
    /// Makes a case of the file. The file may be the image or one of its companions.
    case: fn(Vec<u8>) -> Case,
    disk: Vec<u8>,
    /// The number of first bytes needed to recognise the file, and the error for fewer.
    signature: (usize, ErrorKind),
    /// The number of last bytes that the disk does not need.
    spare: Spare,
    /// The lengths at which a salvage opens the file.
    salvaged: Range<usize>,
    /// Headers and tables.
    tables: Vec<Range<usize>>,
    /// The distance between the lengths to which the file is cut, beyond its first KiB.
    step: usize,
    /// Lengths to which it is not cut, since another complete file ends there.
    also_whole: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spare {
    Exactly(usize),
    /// The file was made by another program, which may have put anything at its end.
    Unknown,
}

impl Sample {
    /// An image that needs all of its bytes, and whose first four bytes identify its format.
    fn new(what: impl Into<String>, file: Vec<u8>, disk: Vec<u8>) -> Self {
        Self {
            what: what.into(),
            file,
            case: Case::new,
            disk,
            signature: (4, ErrorKind::NotRecognised),
            spare: Spare::Exactly(0),
            salvaged: 0..0,
            tables: Vec::new(),
            step: 1,
            also_whole: Vec::new(),
        }
    }

    /// Whether the first `len` bytes may have all that the disk needs.
    fn may_be_whole(&self, len: usize) -> bool {
        match self.spare {
            Spare::Exactly(spare) => len + spare >= self.file.len(),
            Spare::Unknown => len >= self.signature.0,
        }
    }

    /// The sample with unneeded zeros at its end.
    fn zeros_at_the_end(self) -> Self {
        let zeros = self.file.iter().rev().take_while(|&&byte| byte == 0).count();
        Self { spare: Spare::Exactly(zeros), ..self }
    }
}

/// A file whose tables must be read once while its extents are listed.
struct Listing {
    what: &'static str,
    file: Vec<u8>,
    /// The number of bytes of data on the disk.
    data: u64,
    /// The maximum number of extents for the disk.
    most_extents: usize,
    tables: Vec<Range<u64>>,
    /// The maximum number of reads, and of their bytes together.
    most_reads: usize,
    most_bytes: u64,
}

/// A file that ends before its tables, of a disk of extreme size.
struct Extreme {
    what: &'static str,
    file: Vec<u8>,
    /// The size of the disk, or the kind of the error.
    size: Result<u64, ErrorKind>,
}

/// Runs the suite for all formats and containers.
macro_rules! suite {
    (formats: $($format:ident),*; containers: $($container:ident),*) => {
        const FORMATS: &[Format] = &[$($format::FORMAT),*];
        const CONTAINERS: &[Container] = &[$($container::CONTAINER),*];

        mod of {
            $(mod $format {
                use super::super::{checks, $format::FORMAT};

                #[test]
                fn truncation_is_noticed_at_every_structure() {
                    checks::truncation(FORMAT.name, (FORMAT.samples)());
                }

                #[test]
                fn random_changes_do_no_harm() {
                    checks::random_changes(FORMAT.name, (FORMAT.samples)());
                }

                #[test]
                fn changed_fields_are_checked() {
                    (FORMAT.fields)();
                }

                #[test]
                fn damage_costs_its_range_only() {
                    (FORMAT.damage)();
                }

                #[test]
                fn tables_are_read_once() {
                    checks::listings(FORMAT.name, (FORMAT.listings)());
                }

                #[test]
                fn extreme_sizes_are_salvaged() {
                    checks::extremes(FORMAT.name, (FORMAT.extremes)());
                }
            })*
            $(mod $container {
                use super::super::{checks, $container::CONTAINER};

                #[test]
                fn truncation_is_noticed_at_every_structure() {
                    checks::truncation(CONTAINER.name, (CONTAINER.samples)());
                }

                #[test]
                fn random_changes_do_no_harm() {
                    checks::random_changes_of_containers(CONTAINER.name, (CONTAINER.samples)());
                }
            })*
        }
    };
}

suite!(formats: qcow2, vdi, vmdk, qed, vhd, vhdx, parallels, luks; containers: gzip, xz, zstd, bzip2, lz4, tar, zip);

#[test]
fn every_format_and_container_is_tested() {
    // Raw has no structure: containers cut and salvage it.
    let registered = decant::format::readable().map(|format| format.name).filter(|&name| name != "raw");
    assert_eq!(FORMATS.iter().map(|format| format.name).collect::<Vec<_>>(), registered.collect::<Vec<_>>());
    let registered = decant::container::CONTAINERS.iter().map(|container| container.name);
    assert_eq!(CONTAINERS.iter().map(|container| container.name).collect::<Vec<_>>(), registered.collect::<Vec<_>>());
}
