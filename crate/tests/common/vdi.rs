//! A small writer of VDI images that qemu-img cannot make.

pub const FREE: u32 = 0xffff_ffff;
pub const ZERO: u32 = 0xffff_fffe;
pub const VERSION_0: u32 = 2;
pub const VERSION_1_1: u32 = 0x0001_0001;
pub const NORMAL: u32 = 1;
pub const UNDO: u32 = 3;
pub const DIFFERENCING: u32 = 4;

/// The content of a block of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Free,
    Zero,
    /// Bytes from `content`.
    Data(u8),
}

/// The description of an image.
#[derive(Clone, Debug)]
pub struct Vdi<'a> {
    pub version: u32,
    pub kind: u32,
    pub block_size: usize,
    pub block_extra: usize,
    /// The size of the disk, in bytes.
    pub size: u64,
    pub blocks: &'a [Block],
    /// Each UUID is sixteen times its byte; 0 is null.
    pub id: u8,
    pub state: u8,
    pub parent: u8,
    pub parent_state: u8,
}

impl<'a> Vdi<'a> {
    /// A base image of version 1.1 whose disk is all of `blocks`.
    pub fn new(block_size: usize, blocks: &'a [Block]) -> Self {
        Self {
            version: VERSION_1_1,
            kind: NORMAL,
            block_size,
            block_extra: 0,
            size: block_size as u64 * blocks.len() as u64,
            blocks,
            id: 0xa1,
            state: 0xb1,
            parent: 0,
            parent_state: 0,
        }
    }

    /// The position of the block map.
    pub fn map(&self) -> usize {
        if self.version == VERSION_0 { 420 } else { 512 }
    }

    /// The position of the first block.
    pub fn data(&self) -> usize {
        let end = self.map() + 4 * self.blocks.len();
        if self.version == VERSION_0 { end } else { end.next_multiple_of(512) }
    }

    /// The file. Its blocks are in reverse guest order, each after some other bytes.
    pub fn file(&self) -> Vec<u8> {
        let has_data = |block: &&Block| matches!(block, Block::Data(_));
        let count = self.blocks.iter().filter(has_data).count();
        let mut image = vec![0; self.data()];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"<<< made by a test >>>\n");
        put(64, &0xbeda_107fu32.to_le_bytes());
        put(68, &self.version.to_le_bytes());
        let [kind, size, uuids] = if self.version == VERSION_0 { [72, 352, 372] } else { [76, 368, 392] };
        put(kind, &self.kind.to_le_bytes());
        put(size, &self.size.to_le_bytes());
        put(size + 8, &(self.block_size as u32).to_le_bytes());
        let numbers = [self.blocks.len() as u32, count as u32].map(u32::to_le_bytes).concat();
        if self.version == VERSION_0 {
            put(size + 12, &numbers);
        } else {
            put(72, &400u32.to_le_bytes());
            put(340, &(self.map() as u32).to_le_bytes());
            put(344, &(self.data() as u32).to_le_bytes());
            put(size + 12, &(self.block_extra as u32).to_le_bytes());
            put(size + 16, &numbers);
            put(440, &[self.parent_state; 16]);
        }
        put(uuids, &[self.id; 16]);
        put(uuids + 16, &[self.state; 16]);
        put(uuids + 32, &[self.parent; 16]);
        let mut number = count as u32;
        for (at, block) in self.blocks.iter().enumerate() {
            let entry = match block {
                Block::Free => FREE,
                Block::Zero => ZERO,
                Block::Data(_) => {
                    number -= 1;
                    number
                }
            };
            put(self.map() + 4 * at, &entry.to_le_bytes());
        }
        for block in self.blocks.iter().rev() {
            if let Block::Data(seed) = block {
                image.extend(vec![0xee; self.block_extra]);
                image.extend(content(*seed, self.block_size));
            }
        }
        image
    }

    /// The disk over `below`, which reads as zeros after its end.
    pub fn disk(&self, below: &[u8]) -> Vec<u8> {
        let mut disk = below.to_vec();
        disk.resize((self.size as usize).next_multiple_of(self.block_size), 0);
        for (part, block) in disk.chunks_mut(self.block_size).zip(self.blocks) {
            match block {
                Block::Free => {}
                Block::Zero => part.fill(0),
                Block::Data(seed) => part.copy_from_slice(&content(*seed, self.block_size)),
            }
        }
        disk.truncate(self.size as usize);
        disk
    }
}

/// Bytes that differ between seeds and between sectors.
pub fn content(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| seed.wrapping_add((at / 512) as u8).wrapping_mul(31) ^ (at as u8 | 1)).collect()
}
