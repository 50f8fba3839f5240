//! The footer of a new VHD ("Hard Disk Footer Format", "CHS Calculation").

use crate::format::vhd::vhd_footer::{COOKIE, VhdFooter, checksum};
use crate::offsets::SECTOR;
use crate::output::Stamp;

/// Seconds from 1970-01-01 to 2000-01-01, the epoch of VHD.
const EPOCH: u64 = 946_684_800;

impl VhdFooter {
    /// The footer of a disk of `disk_size` bytes. `data_offset` is the offset of the next structure; all ones if there is none.
    pub fn new(disk_type: u32, data_offset: u64, disk_size: u64, stamp: &Stamp) -> Self {
        let ChsGeometry { cylinders, heads, sectors } = ChsGeometry::of(disk_size / SECTOR);
        let mut footer = Self {
            cookie: COOKIE,
            // Only the reserved bit, which is always set.
            features: 2,
            file_format_version: 0x0001_0000,
            data_offset,
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
            disk_type,
            checksum: 0,
            unique_id: uuid(stamp.random),
            saved_state: 0,
            reserved: [0; 427],
        };
        footer.checksum = checksum(&footer.to_bytes());
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
