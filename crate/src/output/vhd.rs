//! A fixed VHD: the disk, followed by a footer ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006,
//! sections "Hard Disk Footer Format" and "CHS Calculation").

use super::layout::{Layout, Stamp};
use super::options::FormatOption;
use super::{BLOCK, OutputFormat, grows};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::SECTOR;
use crate::structure::structure;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "vpc",
    label: "VHD",
    hint: "For Azure",
    extension: ".vhd",
    options: &[FormatOption::new("subformat", &["fixed"]), FormatOption::new("force_size", &["on"])],
    recommended: &[],
    has_footer: true,
    layout: |virtual_size, _| Ok(Box::new(FixedVhd::new(virtual_size)?)),
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

impl Layout for FixedVhd {
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.disk_size, MIB, "Azure")
    }

    fn output_size(&self) -> Option<u64> {
        Some(self.disk_size + Footer::LEN as u64)
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>> {
        Ok(Box::new(Self::new(virtual_size)?))
    }

    fn footer(&self, stamp: &Stamp) -> Vec<u8> {
        Footer::new(self.disk_size, stamp).to_bytes().to_vec()
    }
}

structure! {
    /// "Hard Disk Footer Format".
    struct Footer: Big {
        cookie: [u8; 8] = 0,
        features: u32 = 8,
        file_format_version: u32 = 12,
        data_offset: u64 = 16,
        time_stamp: u32 = 24,
        creator_application: [u8; 4] = 28,
        creator_version: u32 = 32,
        creator_host_os: [u8; 4] = 36,
        original_size: u64 = 40,
        current_size: u64 = 48,
        cylinders: u16 = 56,
        heads: u8 = 58,
        sectors: u8 = 59,
        disk_type: u32 = 60,
        checksum: u32 = 64,
        unique_id: [u8; 16] = 68,
        saved_state: u8 = 84,
        reserved: [u8; 427] = 85,
    }
}

impl Footer {
    /// The footer of a fixed disk of `disk_size` bytes.
    fn new(disk_size: u64, stamp: &Stamp) -> Self {
        let ChsGeometry { cylinders, heads, sectors } = ChsGeometry::of(disk_size / SECTOR);
        let mut footer = Self {
            cookie: *b"conectix",
            // Only the reserved bit, which is always set.
            features: 2,
            file_format_version: 0x0001_0000,
            // None in a fixed disk.
            data_offset: u64::MAX,
            time_stamp: seconds_since_2000(stamp.seconds),
            // As Windows writes it. Readers then take the size of the disk from the current size, not from the geometry.
            creator_application: *b"win ",
            creator_version: 0x000a_0000,
            creator_host_os: *b"Wi2k",
            original_size: disk_size,
            current_size: disk_size,
            cylinders,
            heads,
            sectors,
            // Fixed.
            disk_type: 2,
            checksum: 0,
            unique_id: uuid(stamp.random),
            saved_state: 0,
            reserved: [0; 427],
        };
        footer.checksum = !footer.to_bytes().iter().map(|&byte| u32::from(byte)).sum::<u32>();
        footer
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
struct ChsGeometry {
    cylinders: u16,
    heads: u8,
    sectors: u8,
}

impl ChsGeometry {
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
            assert_eq!(ChsGeometry::of(total), ChsGeometry { cylinders, heads, sectors }, "{total} sectors");
        }
    }
}
