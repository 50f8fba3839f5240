//! A fixed VHD: the disk, followed by a footer ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006,
//! sections "Hard Disk Footer Format" and "CHS Calculation").

use super::{BLOCK, FormatOption, OutputFormat, Stamp, Writer, grows};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::SECTOR;

pub const FORMAT: OutputFormat = OutputFormat {
    name: "vpc",
    label: "VHD",
    hint: "For Azure",
    extension: ".vhd",
    options: &[
        FormatOption { name: "subformat", values: &["fixed"] },
        FormatOption { name: "force_size", values: &["on"] },
    ],
    compressed: false,
    has_footer: true,
    writer: |virtual_size| Ok(Box::new(FixedVhd::new(virtual_size)?)),
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Maximum size of a disk, in GiB.
const MOST_GIB: u64 = 2040;
/// Seconds from 1970-01-01 to 2000-01-01, the epoch of VHD.
const EPOCH: u64 = 946_684_800;

struct FixedVhd {
    virtual_size: u64,
    disk_size: u64,
}

impl FixedVhd {
    /// Azure accepts whole MiB only, at least one: a footer alone would be read as the start of a dynamic VHD.
    fn new(virtual_size: u64) -> Result<Self> {
        if virtual_size > MOST_GIB * GIB {
            let message = format!(
                "A VHD holds at most 2,040 GiB, but the disk has {} GiB; choose another output format",
                virtual_size.div_ceil(GIB)
            );
            return Err(Error::new(ErrorKind::Limit, message).coded("vhd-too-large").field("size", virtual_size));
        }
        Ok(Self { virtual_size, disk_size: virtual_size.next_multiple_of(MIB).max(MIB) })
    }
}

impl Writer for FixedVhd {
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        let added = self.disk_size - self.virtual_size;
        (added > 0).then(|| grows(added, MIB, "Azure"))
    }

    fn output_size(&self) -> Option<u64> {
        Some(self.disk_size + Footer::LEN as u64)
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Writer>> {
        (FORMAT.writer)(virtual_size)
    }

    fn footer(&self, stamp: &Stamp) -> Vec<u8> {
        Footer { disk_size: self.disk_size, stamp: *stamp }.to_bytes().to_vec()
    }
}

/// "Hard Disk Footer Format"; all numbers are big-endian.
struct Footer {
    disk_size: u64,
    stamp: Stamp,
}

impl Footer {
    const LEN: usize = 512;
    const CHECKSUM: usize = 64;

    fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, b"conectix");
        // Features: only the reserved bit, which is always set.
        put(8, &2u32.to_be_bytes());
        put(12, &0x0001_0000u32.to_be_bytes());
        // Data offset: none in a fixed disk.
        put(16, &u64::MAX.to_be_bytes());
        put(24, &seconds_since_2000(self.stamp.seconds).to_be_bytes());
        // As Windows writes it. Readers then take the size of the disk from the current size, not from the geometry.
        put(28, b"win ");
        put(32, &0x000a_0000u32.to_be_bytes());
        put(36, b"Wi2k");
        // Original size and current size.
        put(40, &self.disk_size.to_be_bytes());
        put(48, &self.disk_size.to_be_bytes());
        let Geometry { cylinders, heads, sectors } = Geometry::of(self.disk_size / SECTOR);
        put(56, &cylinders.to_be_bytes());
        put(58, &[heads, sectors]);
        // Disk type: fixed.
        put(60, &2u32.to_be_bytes());
        put(68, &uuid(self.stamp.random));
        let checksum = !bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
        bytes[Self::CHECKSUM..Self::CHECKSUM + 4].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }
}

fn seconds_since_2000(unix: u64) -> u32 {
    u32::try_from(unix.saturating_sub(EPOCH)).unwrap_or(u32::MAX)
}

/// Makes a random UUID (RFC 9562, version 4).
fn uuid(mut random: [u8; 16]) -> [u8; 16] {
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    random
}

/// The CHS geometry of a disk.
#[derive(Debug, PartialEq, Eq)]
struct Geometry {
    cylinders: u16,
    heads: u8,
    sectors: u8,
}

impl Geometry {
    /// "CHS Calculation": the largest geometry of at most `total` sectors by the rules of the specification.
    fn of(total: u64) -> Self {
        let total = total.min(65_535 * 16 * 255);
        let (mut sectors, mut heads, mut tracks);
        if total >= 65_535 * 16 * 63 {
            (sectors, heads, tracks) = (255, 16, total / 255);
        } else {
            (sectors, tracks) = (17, total / 17);
            heads = tracks.div_ceil(1024).max(4);
            if tracks >= heads * 1024 || heads > 16 {
                (sectors, heads, tracks) = (31, 16, total / 31);
            }
            if tracks >= heads * 1024 {
                (sectors, heads, tracks) = (63, 16, total / 63);
            }
        }
        // The rules above limit them to 65,535, 16 and 255.
        Self { cylinders: (tracks / heads) as u16, heads: heads as u8, sectors: sectors as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometries_are_those_of_the_specification() {
        // (total sectors, cylinders, heads, sectors per track): computed by the specification, on both sides of each
        // bound
        let cases = [
            (0, 0, 4, 17),
            (2048, 30, 4, 17),
            (4 * 1024 * 17 - 1, 1023, 4, 17),
            (4 * 1024 * 17, 140, 16, 31),
            (4 * 1024 * 17 + 17, 819, 5, 17),
            (16 * 1024 * 17 - 17, 1023, 16, 17),
            (16 * 1024 * 17, 561, 16, 31),
            (16 * 1024 * 31, 503, 16, 63),
            (65_535 * 16 * 63 - 1, 65_534, 16, 63),
            (65_535 * 16 * 63, 16_191, 16, 255),
            (65_535 * 16 * 255, 65_535, 16, 255),
            (1 << 32, 65_535, 16, 255),
        ];
        for (total, cylinders, heads, sectors) in cases {
            assert_eq!(Geometry::of(total), Geometry { cylinders, heads, sectors }, "{total} sectors");
        }
    }
}
