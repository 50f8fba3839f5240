//! The header (`VDIPREHEADER`, `VDIHEADER0`, `VDIHEADER1`): the fields needed for reading, validated as in VirtualBox.
//! Geometries, the comment and the number of allocated blocks are ignored.

use crate::disk::reference::Identity;
use crate::error::{Error, Result, checked_virtual_size};
use crate::offsets::{HostOffset, SECTOR, le32, le64};

/// Offset of the signature, in bytes. Text precedes it.
pub(super) const SIGNATURE_AT: usize = 64;
/// 0xbeda107f.
pub(super) const SIGNATURE: [u8; 4] = [0x7f, 0x10, 0xda, 0xbe];
/// The end of the last field that is read, in bytes. The field is from version 1.1.
pub(super) const MAX_FIXED: u64 = 456;

/// Offset of the version in bytes, and the supported versions.
const VERSION_AT: usize = 68;
const VERSION_0: u32 = 2;
const VERSION_1_1: u32 = 0x0001_0001;
/// In version 1.1: the offset of the header size field, and its minimum value. The size counts from that field.
const HEADER_SIZE_AT: usize = 72;
const V1_HEADER_SIZE: u32 = 384;
/// In version 0: the offset of the block map, which follows the header. The blocks follow the map.
const V0_MAP: u64 = 420;
/// Size of a block map entry, in bytes.
pub(super) const ENTRY_SIZE: u64 = 4;

/// Image types. 1 and 2 contain the whole disk, 3 and 4 differences from another image.
const TYPES: std::ops::RangeInclusive<u32> = 1..=4;
const UNDO: u32 = 3;
/// The flags known to VirtualBox: "expand zero blocks", and internal ones that repeat the type.
const FLAGS: u32 = 0x301;

/// The header fields needed for reading. Sizes and offsets are in bytes.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub major_version: u32,
    pub map_offset: HostOffset,
    pub data_offset: u64,
    pub virtual_size: u64,
    /// A power of two, at least one sector.
    pub block_size: u64,
    /// Length of the extra data before each block's data.
    pub block_extra: u64,
    pub blocks: u64,
    /// The identity by which a child refers to this disk and its state.
    pub identity: Option<Identity>,
    /// The identity of the parent and its state, if there is a parent.
    pub parent: Option<Identity>,
}

/// Offsets of fields common to both versions, and the end of the header, in bytes.
struct Layout {
    kind: usize,
    virtual_size: usize,
    uuids: usize,
    end: u64,
}

impl Layout {
    const V0: Self = Self { kind: 72, virtual_size: 352, uuids: 372, end: V0_MAP };
    const V1: Self = Self { kind: 76, virtual_size: 368, uuids: 392, end: MAX_FIXED };
}

impl Header {
    /// Parses `bytes`, the first bytes of a file of `file_size` bytes. Fails with `not-recognised`, `unsupported`,
    /// `corrupt` or `limit`.
    pub fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        let need = |len: u64| match bytes.len() as u64 {
            present if present < len => Err(Error::truncated("the end of the header", HostOffset(len), file_size)),
            _ => Ok(()),
        };
        if !bytes.get(SIGNATURE_AT..).is_some_and(|bytes| bytes.starts_with(&SIGNATURE)) {
            return Err(Error::other_format("The file is not a VDI image", "vdi"));
        }
        need(VERSION_AT as u64 + 4)?;
        match le32(bytes, VERSION_AT) {
            VERSION_0 => {
                need(Layout::V0.end)?;
                Self::version_0(bytes)
            }
            VERSION_1_1 => {
                need(Layout::V1.end)?;
                Self::version_1(bytes)
            }
            other => Err(Error::unknown_version(format_args!("{}.{}", other >> 16, other & 0xffff), "VDI")),
        }
    }

    /// Parses `VDIHEADER0`, which has no offsets of the map and the blocks, and no state of the parent.
    fn version_0(bytes: &[u8]) -> Result<Self> {
        let blocks = u64::from(le32(bytes, Layout::V0.virtual_size + 12));
        let header = Self {
            major_version: 0,
            map_offset: HostOffset(V0_MAP),
            data_offset: V0_MAP + blocks * ENTRY_SIZE,
            virtual_size: le64(bytes, Layout::V0.virtual_size),
            block_size: le32(bytes, Layout::V0.virtual_size + 8).into(),
            block_extra: 0,
            blocks,
            identity: identity(bytes, Layout::V0.uuids, Layout::V0.uuids + 16),
            parent: uuid(bytes, Layout::V0.uuids + 32).map(|id| Identity { id, state: None }),
        };
        header.check(bytes, &Layout::V0)?;
        Ok(header)
    }

    /// Parses `VDIHEADER1`. `VDIHEADER1PLUS` only adds a geometry.
    fn version_1(bytes: &[u8]) -> Result<Self> {
        let header = Self {
            major_version: 1,
            map_offset: HostOffset(le32(bytes, 340).into()),
            data_offset: le32(bytes, 344).into(),
            virtual_size: le64(bytes, Layout::V1.virtual_size),
            block_size: le32(bytes, Layout::V1.virtual_size + 8).into(),
            block_extra: le32(bytes, Layout::V1.virtual_size + 12).into(),
            blocks: le32(bytes, Layout::V1.virtual_size + 16).into(),
            identity: identity(bytes, Layout::V1.uuids, Layout::V1.uuids + 16),
            parent: identity(bytes, Layout::V1.uuids + 32, Layout::V1.uuids + 48),
        };
        let size = le32(bytes, HEADER_SIZE_AT);
        if size < V1_HEADER_SIZE {
            return corrupt(format!("the header has {size} bytes, less than {V1_HEADER_SIZE}"), HEADER_SIZE_AT);
        }
        if header.map_offset.0 < MAX_FIXED {
            return corrupt("the block map lies in the header".to_owned(), 340);
        }
        if header.data_offset < header.map_offset.0 + header.blocks * ENTRY_SIZE {
            return corrupt("the blocks begin before the end of the block map".to_owned(), 344);
        }
        let extra = header.block_extra;
        if extra != 0 && !extra.is_power_of_two() {
            return corrupt(format!("a block has {extra} bytes of extra data, no power of two"), 380);
        }
        header.check(bytes, &Layout::V1)?;
        Ok(header)
    }

    /// Validates the fields common to both versions.
    fn check(&self, bytes: &[u8], layout: &Layout) -> Result<()> {
        let (kind, flags) = (le32(bytes, layout.kind), le32(bytes, layout.kind + 4));
        if !TYPES.contains(&kind) {
            return Err(Error::unsupported(format!("type {kind} of VDI")));
        }
        if flags & !FLAGS != 0 {
            return Err(Error::unsupported(format!("unknown flags of VDI ({:#x})", flags & !FLAGS)));
        }
        if kind >= UNDO && self.parent.is_none() {
            return corrupt("it holds differences only, and does not say from which parent".to_owned(), layout.kind);
        }
        if !self.block_size.is_power_of_two() || self.block_size < SECTOR {
            let what = format!("the block size is {}, no power of two from {SECTOR} on", self.block_size);
            return corrupt(what, layout.virtual_size + 8);
        }
        let (size, room) = (checked_virtual_size(self.virtual_size)?, self.blocks * self.block_size);
        if size > room {
            let what = format!("the virtual size is {size}, but {} blocks have {room} bytes", self.blocks);
            return corrupt(what, layout.virtual_size);
        }
        Ok(())
    }
}

fn corrupt<T>(what: String, at: usize) -> Result<T> {
    Err(Error::corrupt(what, HostOffset(at as u64)))
}

/// Reads the identity with the disk's UUID at offset `id` and its state's UUID at `state`. Null UUIDs count as absent.
fn identity(bytes: &[u8], id: usize, state: usize) -> Option<Identity> {
    Some(Identity { id: uuid(bytes, id)?, state: uuid(bytes, state) })
}

/// Reads the UUID at `at` as text; `None` if it is null. Its first three parts are little-endian.
fn uuid(bytes: &[u8], at: usize) -> Option<String> {
    let bytes: &[u8; 16] = bytes[at..at + 16].try_into().expect("16 bytes");
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let digits: String = order.iter().map(|&at: &usize| format!("{:02x}", bytes[at])).collect();
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    (*bytes != [0; 16]).then(|| parts.join("-"))
}
