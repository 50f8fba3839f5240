//! A small writer of VHDs that qemu-img cannot make.

use super::vdi::content;

pub const FIXED: u32 = 2;
pub const DYNAMIC: u32 = 3;
pub const DIFFERENCING: u32 = 4;
/// The positions of the header and of the block allocation table (BAT).
pub const HEADER: usize = 512;
pub const TABLE: usize = 1536;
const SECTOR: usize = 512;
pub const FOOTER: usize = 512;

/// A block of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Absent,
    /// Bytes from `content`, with each byte of the sector bitmap.
    Data(u8, u8),
}

/// The description of an image.
#[derive(Clone, Debug)]
pub struct Vhd<'a> {
    pub kind: u32,
    pub creator: &'a [u8; 4],
    pub block_size: usize,
    /// The size of the disk, in bytes.
    pub size: u64,
    /// Cylinders, heads and sectors.
    pub geometry: (u16, u8, u8),
    pub blocks: &'a [Block],
    /// Each UUID is sixteen times its byte; 0 is null.
    pub id: u8,
    pub parent: u8,
    pub parent_name: &'a str,
    /// Platform codes and names.
    pub locators: &'a [(&'a [u8; 4], &'a str)],
}

impl<'a> Vhd<'a> {
    /// A dynamic image whose disk is all of `blocks`.
    pub fn new(block_size: usize, blocks: &'a [Block]) -> Self {
        Self {
            kind: DYNAMIC,
            creator: b"win ",
            block_size,
            size: block_size as u64 * blocks.len() as u64,
            geometry: (0, 0, 0),
            blocks,
            id: 0xa1,
            parent: 0,
            parent_name: "",
            locators: &[],
        }
    }

    pub fn footer(&self) -> Vec<u8> {
        let mut footer = vec![0; FOOTER];
        let mut put = |at: usize, bytes: &[u8]| footer[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"conectix");
        put(8, &2u32.to_be_bytes());
        put(12, &0x1_0000u32.to_be_bytes());
        put(16, &(if self.kind == FIXED { u64::MAX } else { HEADER as u64 }).to_be_bytes());
        put(28, self.creator);
        put(40, &self.size.to_be_bytes());
        put(48, &self.size.to_be_bytes());
        put(56, &self.geometry.0.to_be_bytes());
        put(58, &[self.geometry.1, self.geometry.2]);
        put(60, &self.kind.to_be_bytes());
        put(68, &[self.id; 16]);
        with_checksum(footer, 64)
    }

    fn header(&self, locators_at: usize) -> Vec<u8> {
        let mut header = vec![0; TABLE - HEADER];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"cxsparse");
        put(8, &[0xff; 8]);
        put(16, &(TABLE as u64).to_be_bytes());
        put(24, &0x1_0000u32.to_be_bytes());
        put(28, &(self.blocks.len() as u32).to_be_bytes());
        put(32, &(self.block_size as u32).to_be_bytes());
        put(40, &[self.parent; 16]);
        let name: Vec<u8> = self.parent_name.encode_utf16().flat_map(u16::to_be_bytes).collect();
        put(64, &name);
        for (number, (code, name)) in self.locators.iter().enumerate() {
            let at = 576 + 24 * number;
            put(at, *code);
            put(at + 4, &1u32.to_be_bytes());
            put(at + 8, &(locator(code, name).len() as u32).to_be_bytes());
            put(at + 16, &((locators_at + SECTOR * number) as u64).to_be_bytes());
        }
        with_checksum(header, 36)
    }

    /// The length of the sector bitmap of a block.
    fn bitmap(&self) -> usize {
        (self.block_size / SECTOR / 8).next_multiple_of(SECTOR)
    }

    /// The end of the BAT.
    pub fn table_end(&self) -> usize {
        (TABLE + 4 * self.blocks.len()).next_multiple_of(SECTOR)
    }

    /// The file. Its blocks are in reverse guest order.
    pub fn file(&self) -> Vec<u8> {
        if self.kind == FIXED {
            return [self.disk(&[]), self.footer()].concat();
        }
        let mut file = [self.footer(), self.header(self.table_end())].concat();
        file.resize(self.table_end(), 0xff);
        for (code, name) in self.locators {
            file.extend(locator(code, name));
            file.resize(file.len().next_multiple_of(SECTOR), 0);
        }
        for (number, block) in self.blocks.iter().enumerate().rev() {
            if let Block::Data(seed, bits) = block {
                let sector = (file.len() / SECTOR) as u32;
                file[TABLE + 4 * number..][..4].copy_from_slice(&sector.to_be_bytes());
                file.resize(file.len() + self.bitmap(), *bits);
                file.extend(content(*seed, self.block_size));
            }
        }
        file.extend(self.footer());
        file
    }

    /// The disk over `below`, which reads as zeros after its end.
    pub fn disk(&self, below: &[u8]) -> Vec<u8> {
        let mut disk = below.to_vec();
        disk.resize((self.size as usize).next_multiple_of(self.block_size), 0);
        for (part, block) in disk.chunks_mut(self.block_size).zip(self.blocks) {
            let Block::Data(seed, bits) = block else { continue };
            let stored = content(*seed, self.block_size);
            for (number, (sector, own)) in part.chunks_mut(SECTOR).zip(stored.chunks(SECTOR)).enumerate() {
                if bits & (0x80 >> (number % 8)) != 0 {
                    sector.copy_from_slice(own);
                }
            }
        }
        disk.truncate(self.size as usize);
        disk
    }
}

/// Sets the checksum of `structure` at `at`.
pub fn with_checksum(mut structure: Vec<u8>, at: usize) -> Vec<u8> {
    structure[at..at + 4].fill(0);
    let sum = !structure.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    structure[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    structure
}

/// The name in the form of the platform.
fn locator(code: &[u8; 4], name: &str) -> Vec<u8> {
    if code == b"MacX" { name.as_bytes().to_vec() } else { name.encode_utf16().flat_map(u16::to_le_bytes).collect() }
}
