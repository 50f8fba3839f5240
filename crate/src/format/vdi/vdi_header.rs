//! The header (`VDIPREHEADER`, `VDIHEADER0`, `VDIHEADER1`): the fields needed for reading, validated as in VirtualBox.
//! Geometries and the comment are ignored.

use super::structures::{
    ENTRY_SIZE, FLAGS, Header0, Header1, MAX_FIXED, PreHeader, SIGNATURE, SIGNATURE_AT, TYPES, UNDO, V1_HEADER_SIZE,
    VERSION_0, VERSION_1_1,
};
use crate::disk::reference::{Identity, guid_text};
use crate::error::{Error, Result, checked_virtual_size, corrupt, ensure_header};
use crate::offsets::{HostOffset, SECTOR};

/// The header fields needed for reading. Sizes and offsets are in bytes.
#[derive(Clone, Debug)]
pub(super) struct VdiHeader {
    pub(super) major_version: u32,
    pub(super) map_offset: HostOffset,
    pub(super) data_offset: u64,
    pub(super) virtual_size: u64,
    /// A power of two, at least one sector.
    pub(super) block_size: u64,
    /// Length of the extra data before each block's data.
    pub(super) block_extra: u64,
    pub(super) blocks: u64,
    /// The number of blocks with data, if the header states it. Only a check reads it.
    pub(super) allocated: Option<u64>,
    /// The identity by which a child refers to this disk and its state.
    pub(super) identity: Option<Identity>,
    /// The identity of the parent and its state, if there is a parent.
    pub(super) parent: Option<Identity>,
}

/// The type and flags, and the offsets of the fields that [`VdiHeader::check`] names, in either version.
struct CheckedFields {
    u32_type: u32,
    f_flags: u32,
    type_at: u64,
    size_at: u64,
    block_size_at: u64,
}

impl VdiHeader {
    /// Parses `bytes`, the first bytes of a file of `file_size` bytes. Fails with `not-recognised`, `unsupported`,
    /// `corrupt` or `limit`.
    pub(super) fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        let need = |len: usize| ensure_header(len as u64, file_size);
        if !bytes.get(SIGNATURE_AT..).is_some_and(|bytes| bytes.starts_with(&SIGNATURE)) {
            return Err(Error::other_format("The file is not a VDI image", "vdi"));
        }
        need(PreHeader::LEN)?;
        match PreHeader::parse(bytes).version {
            VERSION_0 => {
                need(Header0::LEN)?;
                Self::version_0(&Header0::parse(bytes))
            }
            VERSION_1_1 => {
                need(Header1::LEN)?;
                Self::version_1(&Header1::parse(bytes))
            }
            other => Err(Error::unknown_version(format_args!("{}.{}", other >> 16, other & 0xffff), "VDI")),
        }
    }

    /// Version 0 has no offsets of the map and the blocks, and no state of the parent.
    fn version_0(fields: &Header0) -> Result<Self> {
        let (map_offset, blocks) = (Header0::LEN as u64, u64::from(fields.c_blocks));
        let header = Self {
            major_version: 0,
            map_offset: HostOffset(map_offset),
            data_offset: map_offset + blocks * ENTRY_SIZE,
            virtual_size: fields.cb_disk,
            block_size: fields.cb_block.into(),
            block_extra: 0,
            blocks,
            allocated: None,
            identity: identity(&fields.uuid_create, &fields.uuid_modify),
            parent: guid_text(&fields.uuid_linkage).map(Identity::of_disk),
        };
        header.check(&CheckedFields {
            u32_type: fields.u32_type,
            f_flags: fields.f_flags,
            type_at: Header0::u32_type,
            size_at: Header0::cb_disk,
            block_size_at: Header0::cb_block,
        })?;
        Ok(header)
    }

    fn version_1(fields: &Header1) -> Result<Self> {
        let header = Self {
            major_version: 1,
            map_offset: HostOffset(fields.off_blocks.into()),
            data_offset: fields.off_data.into(),
            virtual_size: fields.cb_disk,
            block_size: fields.cb_block.into(),
            block_extra: fields.cb_block_extra.into(),
            blocks: fields.c_blocks.into(),
            allocated: Some(fields.c_blocks_allocated.into()),
            identity: identity(&fields.uuid_create, &fields.uuid_modify),
            parent: identity(&fields.uuid_linkage, &fields.uuid_parent_modify),
        };
        let size = fields.cb_header;
        if size < V1_HEADER_SIZE {
            return corrupt(format!("the header has {size} bytes, less than {V1_HEADER_SIZE}"), Header1::cb_header);
        }
        if header.map_offset.0 < MAX_FIXED {
            return corrupt("the block map is in the header", Header1::off_blocks);
        }
        if header.data_offset < header.map_offset.0 + header.blocks * ENTRY_SIZE {
            let what = "the blocks begin before the end of the block map";
            return corrupt(what, Header1::off_data);
        }
        let extra = header.block_extra;
        if extra != 0 && !extra.is_power_of_two() {
            let what = format!("a block has {extra} bytes of extra data, not a power of two");
            return corrupt(what, Header1::cb_block_extra);
        }
        header.check(&CheckedFields {
            u32_type: fields.u32_type,
            f_flags: fields.f_flags,
            type_at: Header1::u32_type,
            size_at: Header1::cb_disk,
            block_size_at: Header1::cb_block,
        })?;
        Ok(header)
    }

    /// Validates the fields common to both versions.
    fn check(&self, checked: &CheckedFields) -> Result<()> {
        let (kind, flags) = (checked.u32_type, checked.f_flags);
        if !TYPES.contains(&kind) {
            return Err(Error::unsupported(format!("type {kind} of VDI")));
        }
        if flags & !FLAGS != 0 {
            return Err(Error::unsupported(format!("unknown flags of VDI ({:#x})", flags & !FLAGS)));
        }
        if kind >= UNDO && self.parent.is_none() {
            let what = "it holds differences only, and does not say from which parent";
            return corrupt(what, checked.type_at);
        }
        if !self.block_size.is_power_of_two() || self.block_size < SECTOR {
            let what = format!("the block size is {}, not a power of two from {SECTOR} on", self.block_size);
            return corrupt(what, checked.block_size_at);
        }
        let (size, room) = (checked_virtual_size(self.virtual_size)?, self.blocks * self.block_size);
        if size > room {
            let what = format!("the virtual size is {size}, but {} blocks have {room} bytes", self.blocks);
            return corrupt(what, checked.size_at);
        }
        Ok(())
    }
}

/// Returns the identity of a disk with the UUID `id` in the state with the UUID `state`. Null UUIDs count as absent.
fn identity(id: &[u8; 16], state: &[u8; 16]) -> Option<Identity> {
    Some(Identity { state: guid_text(state), ..Identity::of_disk(guid_text(id)?) })
}
