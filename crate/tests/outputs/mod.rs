//! The conformance suite for outputs. Each has one entry in `OUTPUTS`, with its reader and its sizes.

mod changes;
mod checks;
mod cut;
mod dynamic_vhd;
mod options;
mod ova;
mod ova_disks;
mod ova_rules;
mod random;
mod readers;
mod rules;
mod uuids;
mod vdi;
mod vdi_rules;
pub mod vhdx;
mod vhdx_rules;
mod vmdk_stream;
mod zstd_frames;

use decant::ErrorKind;
use decant::output::{OUTPUT_FORMATS, Options, OutputFormat};
use std::path::Path;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const PIB: u64 = 1 << 50;

pub struct Output {
    /// The name in the registry.
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
    /// Reads the first bytes of the disk, at most as many as given, out of an output.
    pub read: fn(&[u8], usize) -> Vec<u8>,
    /// Checks with the output's own reader that the file is valid and has this disk, followed by zeros.
    validate: fn(&Path, &[u8]),
    /// Virtual size, size of the disk in the output, and size of the output if it is known in advance.
    sizes: &'static [(u64, u64, Option<u64>)],
    /// Virtual sizes that are too large, and the code of the error.
    too_large: (&'static [u64], &'static str),
    /// The part of the notice about a changed size that states the accepted sizes.
    notice: &'static str,
    /// Maximum size of the output for a disk of zeros: a share of the disk, and a constant.
    zeros: (f64, u64),
    /// Whether the disk may be a stream of unknown size; if not, the code of the error.
    in_order: Result<(), &'static str>,
    /// A reader that decides whether a file is an image: Decant, or if it does not read the format, a second reader.
    reader: Option<Reader>,
}

/// A reader of images in memory.
struct Reader {
    /// Whether it takes the file for an image.
    opens: fn(Vec<u8>) -> bool,
    /// The whole disk of an image.
    disk: fn(Vec<u8>) -> Vec<u8>,
}

const DECANT: Option<Reader> = Some(Reader { opens: readers::decant_opens, disk: readers::decant });

/// A qcow2 with these options, for disks of at most `most` bytes. A disk of zeros takes at most `zeros` bytes.
macro_rules! qcow2 {
    ($options:expr, $most:expr, $too_large:expr, $zeros:expr) => {
        Output {
            name: "qcow2",
            options: &$options,
            read: readers::qcow2,
            validate: readers::is_qcow2,
            sizes: &[(0, 0, None), (512, 512, None), (MIB + 1, MIB + 512, None), ($most, $most, None)],
            too_large: $too_large,
            notice: "since qcow2 accepts only whole sectors",
            zeros: (0., $zeros),
            in_order: Err("size-needed"),
            reader: DECANT,
        }
    };
}

/// A VDI with these options. `sizes` are those of the output for the disks below.
macro_rules! vdi {
    ($options:expr, $sizes:expr, $zeros:expr) => {
        Output {
            name: "vdi",
            options: &$options,
            read: readers::vdi,
            validate: readers::is_vdi,
            sizes: &[
                (0, 512, $sizes[0]),
                (512, 512, $sizes[0]),
                (MIB + 1, MIB + 512, $sizes[1]),
                (2 * TIB - 1, 2 * TIB, $sizes[2]),
                (8 * TIB, 8 * TIB, $sizes[3]),
            ],
            too_large: (&[8 * TIB + 1, 64 * TIB], "vdi-too-large"),
            notice: "since VDI accepts only whole sectors",
            zeros: (0., $zeros),
            in_order: Err("size-needed"),
            reader: Some(Reader { opens: vdi::opens, disk: vdi::disk }),
        }
    };
}

/// A VHDX with these options, for disks of at most `most` bytes. `sizes` are those of the output for the disks below.
macro_rules! vhdx {
    ($options:expr, $most:expr, $sizes:expr, $zeros:expr) => {
        Output {
            name: "vhdx",
            options: &$options,
            read: readers::vhdx,
            validate: readers::is_vhdx,
            sizes: &[
                (0, 512, $sizes[0]),
                (512, 512, $sizes[0]),
                (MIB + 1, MIB + 512, $sizes[1]),
                (2 * TIB - 1, 2 * TIB, $sizes[2]),
                ($most, $most, $sizes[3]),
            ],
            too_large: (&[$most + 1], "vhdx-too-large"),
            notice: "since VHDX accepts only whole sectors",
            zeros: (0., $zeros),
            in_order: Err("size-needed"),
            reader: Some(Reader { opens: vhdx::opens, disk: vhdx::disk }),
        }
    };
}

const OUTPUTS: &[Output] = &[
    Output {
        name: "raw",
        options: &[],
        read: readers::plain,
        validate: readers::is_raw,
        sizes: &[
            (0, 0, Some(0)),
            (512, 512, Some(512)),
            (MIB + 512, MIB + 512, Some(MIB + 512)),
            ((1 << 53) - 512, (1 << 53) - 512, Some((1 << 53) - 512)),
        ],
        too_large: (&[], ""),
        notice: "",
        // The last block is written, so that the file has its size.
        zeros: (0., 4096),
        in_order: Ok(()),
        reader: None,
    },
    // The smallest clusters, those of most images, and the largest; the L1 table bounds the disk.
    qcow2!([], 2 * PIB, (&[2 * PIB + 512], "qcow2-too-large"), 6 << 16),
    qcow2!([("compress", "on")], 2 * PIB, (&[2 * PIB + 512], "qcow2-too-large"), 6 << 16),
    qcow2!([("compress", "on"), ("compression_type", "zstd")], 2 * PIB, (&[2 * PIB + 512], "qcow2-too-large"), 6 << 16),
    qcow2!([("compat", "0.10")], 2 * PIB, (&[2 * PIB + 512], "qcow2-too-large"), 6 << 16),
    qcow2!([("compress", "on"), ("compat", "0.10")], 2 * PIB, (&[2 * PIB + 512], "qcow2-too-large"), 6 << 16),
    qcow2!([("cluster_size", "512")], 128 * GIB, (&[128 * GIB + 512], "qcow2-too-large"), 16 << 10),
    qcow2!([("compress", "on"), ("cluster_size", "512")], 128 * GIB, (&[128 * GIB + 512], "qcow2-too-large"), 16 << 10),
    qcow2!([("compress", "on"), ("cluster_size", "2M")], 1 << 53, (&[], ""), 6 << 21),
    Output {
        name: "vmdk",
        options: &[("subformat", "streamOptimized")],
        read: readers::vmdk,
        validate: readers::is_vmdk,
        sizes: &[(0, 512, None), (512, 512, None), (MIB + 1, MIB + 512, None), (62 << 40, 62 << 40, None)],
        too_large: (&[(62 << 40) + 512], "vmdk-too-large"),
        notice: "since VMDK accepts only whole sectors",
        zeros: (1. / 1000., 68 << 10),
        in_order: Err("size-needed"),
        reader: DECANT,
    },
    Output {
        name: "vpc",
        options: &[],
        read: readers::vhd,
        validate: readers::is_vhd,
        sizes: &[
            // A footer alone is read as a dynamic VHD.
            (0, MIB, Some(MIB + 512)),
            (512, MIB, Some(MIB + 512)),
            (MIB - 512, MIB, Some(MIB + 512)),
            (MIB, MIB, Some(MIB + 512)),
            (MIB + 512, 2 * MIB, Some(2 * MIB + 512)),
            (2040 * GIB - 512, 2040 * GIB, Some(2040 * GIB + 512)),
            (2040 * GIB, 2040 * GIB, Some(2040 * GIB + 512)),
        ],
        too_large: (&[2040 * GIB + 512, 1 << 52], "vhd-too-large"),
        notice: "since Azure accepts only whole MiB",
        zeros: (0., 4096 + 512),
        in_order: Ok(()),
        reader: DECANT,
    },
    Output {
        name: "vpc",
        options: &[("subformat", "dynamic")],
        read: readers::dynamic_vhd,
        validate: readers::is_dynamic_vhd,
        sizes: &[
            (0, 512, None),
            (512, 512, None),
            (MIB + 1, MIB + 512, None),
            (2 * MIB, 2 * MIB, None),
            (2040 * GIB, 2040 * GIB, None),
        ],
        too_large: (&[2040 * GIB + 1, 1 << 52], "vhd-too-large"),
        notice: "since VHD accepts only whole sectors",
        // Two footers, the header and the BAT.
        zeros: (0., 5 * 512),
        in_order: Err("size-needed"),
        reader: Some(Reader { opens: dynamic_vhd::opens, disk: dynamic_vhd::disk }),
    },
    // The block allocation table and what is before it are written; it bounds a disk with small blocks.
    vhdx!([("block_size", "0")], 64 * TIB, [None; 4], 4 * MIB),
    vhdx!([("block_size", "2M")], 8 * TIB, [None; 4], 4 * MIB),
    vhdx!(
        [("subformat", "fixed"), ("block_size", "0")],
        64 * TIB,
        [Some(5 * MIB), Some(6 * MIB), Some(2 * TIB + 12 * MIB), Some(64 * TIB + 12 * MIB)],
        4 * MIB + 4096
    ),
    // The header and the map are written.
    vdi!([], [None; 4], 2 * MIB),
    vdi!(
        [("static", "on")],
        [Some(3 * MIB), Some(4 * MIB), Some(2 * TIB + 9 * MIB), Some(8 * TIB + 33 * MIB)],
        2 * MIB + 4096
    ),
    Output {
        name: "raw.gz",
        options: &[],
        read: readers::gzip,
        validate: readers::is_gzip,
        sizes: &[(0, 0, None), (512, 512, None), (MIB + 512, MIB + 512, None)],
        too_large: (&[], ""),
        notice: "",
        zeros: (1. / 1000., 4096),
        in_order: Ok(()),
        reader: None,
    },
    Output {
        name: "raw.zst",
        options: &[],
        read: readers::zstd,
        validate: readers::is_zstd,
        sizes: &[
            (0, 0, None),
            (1, 1, None),
            (512, 512, None),
            (MIB + 512, MIB + 512, None),
            (4 * MIB + 1, 4 * MIB + 1, None),
            // A seek table states its length in 32 bits.
            (2 * PIB - 8 * MIB, 2 * PIB - 8 * MIB, None),
        ],
        too_large: (&[2 * PIB], "too-many-blocks"),
        notice: "",
        // 145 bytes for 4 MiB.
        zeros: (1. / 20_000., 64),
        in_order: Ok(()),
        reader: None,
    },
    Output {
        name: "raw.xz",
        options: &[],
        read: readers::xz,
        validate: readers::is_xz,
        sizes: &[
            (0, 0, None),
            (1, 1, None),
            (512, 512, None),
            (MIB + 512, MIB + 512, None),
            (4 * MIB + 1, 4 * MIB + 1, None),
            // A footer states the length of the index in 32 bits, in units of four bytes.
            (8 * PIB - 8 * MIB, 8 * PIB - 8 * MIB, None),
        ],
        too_large: (&[8 * PIB], "too-many-blocks"),
        notice: "",
        // 700 bytes for 4 MiB.
        zeros: (1. / 5_000., 128),
        in_order: Ok(()),
        reader: None,
    },
    Output {
        name: "tar.gz",
        options: &[],
        read: readers::archive,
        validate: readers::is_archive,
        sizes: &[
            (0, GIB, None),
            (1, GIB, None),
            (GIB, GIB, None),
            (GIB + 1, 2 * GIB, None),
            ((1 << 53) - 512, 1 << 53, None),
        ],
        too_large: (&[], ""),
        notice: "since Google Compute Engine accepts only whole GiB",
        zeros: (1. / 1000., 4096),
        in_order: Err("size-needed"),
        reader: None,
    },
    Output {
        name: "ova",
        options: &[],
        read: readers::ova,
        validate: readers::is_ova,
        sizes: &[
            (0, 512, None),
            (1, 512, None),
            (511, 512, None),
            (512, 512, None),
            (MIB + 1, MIB + 512, None),
            (62 << 40, 62 << 40, None),
        ],
        too_large: (&[(62 << 40) + 512], "vmdk-too-large"),
        notice: "since VMDK accepts only whole sectors",
        // Of these, the archive takes 10,240 bytes at most at its end.
        zeros: (1. / 1000., 88 << 10),
        in_order: Err("size-needed"),
        reader: DECANT,
    },
];

impl Output {
    fn format(&self) -> &'static OutputFormat {
        decant::output::by_name(self.name).unwrap()
    }

    fn options(&self) -> Options {
        let given: Vec<_> = self.options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Options::new(self.format(), &given).unwrap()
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.name, self.options)
    }
}

/// Returns the entry of the output called `name`.
pub fn entry(name: &str) -> &'static Output {
    OUTPUTS.iter().find(|output| output.name == name).unwrap_or_else(|| panic!("{name} is not in OUTPUTS"))
}

/// Returns the entry of the output called `name` with these options.
pub fn entry_with(name: &str, options: &[(&str, &str)]) -> &'static Output {
    OUTPUTS.iter().find(|output| output.name == name && output.options == options).expect("it is in OUTPUTS")
}

#[test]
fn every_output_is_tested() {
    let mut names = OUTPUTS.iter().map(|output| output.name).collect::<Vec<_>>();
    names.dedup();
    assert_eq!(names, OUTPUT_FORMATS.iter().map(|format| format.name).collect::<Vec<_>>());
    assert_eq!(names, ["raw", "qcow2", "vmdk", "vpc", "vhdx", "vdi", "raw.gz", "raw.zst", "raw.xz", "tar.gz", "ova"]);
}

#[test]
fn an_unknown_name_is_refused() {
    let error = decant::output::by_name("vh\u{202e}dx").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert_eq!(
        error.message(),
        "There is no output format 'vh\\u202edx'; choose one of raw, qcow2, vmdk, vpc, vhdx, vdi, raw.gz, raw.zst, raw.xz, tar.gz, ova"
    );
}
