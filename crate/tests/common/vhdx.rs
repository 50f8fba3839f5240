//! A small writer of VHDX files, with logs, bitmaps and parents, which qemu-img does not make.

use super::vdi::content;

pub const MIB: usize = 1 << 20;
/// The positions of headers, region tables, the metadata and the block allocation table (BAT).
pub const HEADERS: [usize; 2] = [64 << 10, 128 << 10];
pub const REGIONS: [usize; 2] = [192 << 10, 256 << 10];
pub const METADATA: usize = MIB;
pub const TABLE: usize = 2 * MIB;
/// The positions of metadata items.
pub const ITEMS: usize = METADATA + (64 << 10);
const ITEM: usize = 1 << 10;
/// The parts of a page in a log.
pub const PAGE: usize = 4096;

pub const BAT_REGION: u128 = 0x2dc2_7766_f623_4200_9d64_115e_9bfd_4a08;
pub const METADATA_REGION: u128 = 0x8b7c_a206_4790_4b9a_b8fe_575f_050f_886e;
const VHDX_PARENT: u128 = 0xb04a_efb7_d19e_4a81_b789_25b8_e944_5913;
/// File parameters, virtual size, sector sizes, disk ID and parent locator.
const ITEM_IDS: [u128; 6] = [
    0xcaa1_6737_fa36_4d43_b3b6_33f0_aa44_e76b,
    0x2fa5_4224_cd1b_4876_b211_5dbe_d83b_f4b8,
    0x8141_bf1d_a96f_4709_ba47_f233_a8fa_ab5f,
    0xcda3_48c7_445d_4471_9cc9_e988_5251_c556,
    0xbeca_12ab_b2e6_4523_93ef_c309_e000_c746,
    0xa8d3_5f2d_b30b_454d_abf7_d3d8_4834_ab0c,
];

/// A block of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Not in the file, with this state. The rest of its entry is junk.
    State(u8),
    /// Bytes from `content`.
    Data(u8),
    /// Bytes from `content`, with each byte of the sector bitmap.
    Part(u8, u8),
}
use Block::{Data, Part, State};

/// The description of an image.
#[derive(Clone, Debug)]
pub struct Vhdx<'a> {
    pub block_size: usize,
    pub sector_size: usize,
    /// The size of the disk, in bytes.
    pub size: u64,
    pub blocks: &'a [Block],
    /// The GUID of the state of its data is sixteen times this byte.
    pub id: u8,
    pub has_parent: bool,
    /// The entries of the parent locator.
    pub locator: &'a [(&'a str, &'a str)],
    /// The length of the log, after the BAT. If it is not 0, the header has the GUID of the log, `LOG_ID`.
    pub log: usize,
}

pub const LOG_ID: [u8; 16] = [0x77; 16];

/// A GUID in the order of a file.
pub fn guid(digits: u128) -> Vec<u8> {
    let bytes = digits.to_be_bytes();
    [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map(|at| bytes[at]).to_vec()
}

/// The GUID of an image with the `id`, as text.
pub fn linkage(id: u8) -> String {
    let byte = format!("{id:02X}");
    format!("{{{}-{}-{}-{}-{}}}", byte.repeat(4), byte.repeat(2), byte.repeat(2), byte.repeat(2), byte.repeat(6))
}

/// The remainders of each byte before 0 to 7 zeros.
static REMAINDERS: [[u32; 256]; 8] = remainders();

const fn remainders() -> [[u32; 256]; 8] {
    let mut table = [[0; 256]; 8];
    let mut at = 0;
    while at < 256 * 8 {
        let (zeros, byte) = (at / 256, at % 256);
        let mut value = if zeros == 0 { byte as u32 } else { table[zeros - 1][byte] };
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ ((value & 1) * 0x82f6_3b78);
            bit += 1;
        }
        table[zeros][byte] = value;
        at += 1;
    }
    table
}

/// CRC-32C. Tests with many images need it to be fast: eight bytes at a time.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let value = eights.iter().fold(u32::MAX, |value, eight| {
        let mixed = u64::from_le_bytes(*eight) ^ u64::from(value);
        mixed.to_le_bytes().iter().enumerate().fold(0, |sum, (at, &byte)| sum ^ REMAINDERS[7 - at][usize::from(byte)])
    });
    !rest.iter().fold(value, |value, &byte| (value >> 8) ^ REMAINDERS[0][usize::from(value as u8 ^ byte)])
}

/// Gives the part of `len` bytes at `at` its CRC-32C.
pub fn seal(file: &mut [u8], at: usize, len: usize) {
    if let Some(part) = file.get_mut(at..at + len) {
        part[4..8].fill(0);
        let sum = crc32c(part);
        part[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Gives headers and region tables, as far as they are in the file, their CRC-32C.
pub fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    HEADERS.into_iter().for_each(|at| seal(&mut file, at, 4096));
    REGIONS.into_iter().for_each(|at| seal(&mut file, at, 64 << 10));
    file
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

impl<'a> Vhdx<'a> {
    /// A dynamic image whose disk is all of `blocks` of 1 MiB.
    pub fn new(blocks: &'a [Block]) -> Self {
        Self {
            block_size: MIB,
            sector_size: 512,
            size: MIB as u64 * blocks.len() as u64,
            blocks,
            id: 0xa1,
            has_parent: false,
            locator: &[],
            log: 0,
        }
    }

    /// An image with differences from the image `parent`.
    pub fn over(parent: u8, blocks: &'a [Block]) -> Vhdx<'a> {
        let linkage: &'a str = Box::leak(linkage(parent).into_boxed_str());
        let locator = Box::leak(Box::new([("parent_linkage", linkage)]));
        Vhdx { id: 0xb2, has_parent: true, locator, ..Self::new(blocks) }
    }

    fn chunk_blocks(&self) -> usize {
        ((self.sector_size as u64 * 8 * MIB as u64) / self.block_size as u64) as usize
    }

    /// The position of the entry of a block.
    pub fn entry(&self, block: usize) -> usize {
        TABLE + 8 * (block + block / self.chunk_blocks())
    }

    /// The position of the entry of the bitmap of a chunk.
    pub fn bitmap_entry(&self, chunk: usize) -> usize {
        TABLE + 8 * ((chunk + 1) * (self.chunk_blocks() + 1) - 1)
    }

    /// The end of the entries.
    pub fn table_end(&self) -> usize {
        let chunks = self.blocks.len().div_ceil(self.chunk_blocks());
        if self.has_parent { self.bitmap_entry(chunks - 1) + 8 } else { self.entry(self.blocks.len() - 1) + 8 }
    }

    /// The position of the log, and of the first block without one.
    pub fn log_start(&self) -> usize {
        self.table_end().next_multiple_of(MIB)
    }

    fn header(&self, sequence: u64) -> Vec<u8> {
        let mut header = vec![0; 4096];
        put(&mut header, 0, b"head");
        put(&mut header, 8, &sequence.to_le_bytes());
        put(&mut header, 16, &[9; 16]);
        put(&mut header, 32, &[self.id; 16]);
        put(&mut header, 66, &1u16.to_le_bytes());
        if self.log > 0 {
            put(&mut header, 48, &LOG_ID);
            put(&mut header, 68, &(self.log as u32).to_le_bytes());
            put(&mut header, 72, &(self.log_start() as u64).to_le_bytes());
        }
        header
    }

    fn regions(&self) -> Vec<u8> {
        let mut table = vec![0; 64 << 10];
        put(&mut table, 0, b"regi");
        put(&mut table, 8, &2u32.to_le_bytes());
        let bat = (BAT_REGION, TABLE, self.log_start() - TABLE);
        for (number, (id, at, len)) in [bat, (METADATA_REGION, METADATA, MIB)].into_iter().enumerate() {
            put(&mut table, 16 + 32 * number, &guid(id));
            put(&mut table, 32 + 32 * number, &(at as u64).to_le_bytes());
            put(&mut table, 40 + 32 * number, &(len as u32).to_le_bytes());
            put(&mut table, 44 + 32 * number, &1u32.to_le_bytes());
        }
        table
    }

    fn metadata(&self) -> Vec<u8> {
        let parameters = (self.block_size as u64 | u64::from(self.has_parent) << 33).to_le_bytes();
        let mut items = vec![
            parameters.to_vec(),
            self.size.to_le_bytes().to_vec(),
            (self.sector_size as u32).to_le_bytes().to_vec(),
            4096u32.to_le_bytes().to_vec(),
            vec![0xd1; 16],
        ];
        if self.has_parent {
            items.push(locator(self.locator));
        }
        let mut metadata = vec![0; MIB];
        put(&mut metadata, 0, b"metadata");
        put(&mut metadata, 10, &(items.len() as u16).to_le_bytes());
        for (number, (item, id)) in items.iter().zip(ITEM_IDS).enumerate() {
            let (entry, at) = (32 + 32 * number, ITEMS - METADATA + ITEM * number);
            put(&mut metadata, entry, &guid(id));
            put(&mut metadata, entry + 16, &(at as u32).to_le_bytes());
            put(&mut metadata, entry + 20, &(item.len() as u32).to_le_bytes());
            put(&mut metadata, entry + 24, &4u32.to_le_bytes());
            put(&mut metadata, at, item);
        }
        metadata
    }

    /// The file. Its blocks are in reverse guest order, except for the last one, of which only the part on the disk is
    /// in the file.
    pub fn file(&self) -> Vec<u8> {
        let mut file = vec![0; self.log_start() + self.log];
        put(&mut file, 0, b"vhdxfile");
        put(&mut file, HEADERS[0], &self.header(4));
        put(&mut file, HEADERS[1], &self.header(5));
        REGIONS.into_iter().for_each(|at| put(&mut file, at, &self.regions()));
        put(&mut file, METADATA, &self.metadata());
        let mut bitmaps = std::collections::BTreeMap::new();
        let mut order: Vec<usize> = (0..self.blocks.len()).rev().collect();
        order.rotate_left(1.min(self.blocks.len()));
        for number in order {
            let entry = match self.blocks[number] {
                // The entry keeps an earlier place of the block.
                State(state) => u64::from(state) | 3 << 20,
                Data(seed) | Part(seed, _) => {
                    if let Part(_, bits) = self.blocks[number] {
                        let chunk = number / self.chunk_blocks();
                        let bitmap = *bitmaps.entry(chunk).or_insert_with(|| {
                            file.resize(file.len() + MIB, 0);
                            file.len() - MIB
                        });
                        let bytes = self.block_size / self.sector_size / 8;
                        let at = bitmap + number % self.chunk_blocks() * bytes;
                        file[at..at + bytes].fill(bits);
                        let entry = self.bitmap_entry(chunk);
                        put(&mut file, entry, &(bitmap as u64 | 6).to_le_bytes());
                    }
                    let at = file.len();
                    let rest = self.size - number as u64 * self.block_size as u64;
                    let len = rest.min(self.block_size as u64) as usize;
                    file.extend(content(seed, len));
                    at as u64 | if matches!(self.blocks[number], Data(_)) { 6 } else { 7 }
                }
            };
            put(&mut file, self.entry(number), &entry.to_le_bytes());
        }
        sealed(file)
    }

    /// The disk over `below`, which reads as zeros after its end.
    pub fn disk(&self, below: &[u8]) -> Vec<u8> {
        let mut disk = below.to_vec();
        disk.resize(self.blocks.len() * self.block_size, 0);
        for (part, block) in disk.chunks_mut(self.block_size).zip(self.blocks) {
            match *block {
                State(0) if self.has_parent => {}
                State(_) => part.fill(0),
                Data(seed) => part.copy_from_slice(&content(seed, self.block_size)),
                Part(seed, bits) => {
                    let stored = content(seed, self.block_size);
                    let sectors = part.chunks_mut(self.sector_size).zip(stored.chunks(self.sector_size));
                    for (number, (sector, own)) in sectors.enumerate() {
                        if bits & (1 << (number % 8)) != 0 {
                            sector.copy_from_slice(own);
                        }
                    }
                }
            }
        }
        disk.truncate(self.size as usize);
        disk
    }
}

/// A parent locator with these entries.
pub fn locator(entries: &[(&str, &str)]) -> Vec<u8> {
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let mut locator = [guid(VHDX_PARENT), vec![0, 0], (entries.len() as u16).to_le_bytes().to_vec()].concat();
    let mut texts = Vec::new();
    let start = locator.len() + 12 * entries.len();
    for (key, value) in entries {
        let (key, value) = (utf_16(key), utf_16(value));
        let at = start + texts.len();
        locator.extend([(at as u32).to_le_bytes(), ((at + key.len()) as u32).to_le_bytes()].concat());
        locator.extend([(key.len() as u16).to_le_bytes(), (value.len() as u16).to_le_bytes()].concat());
        texts.extend([key, value].concat());
    }
    [locator, texts].concat()
}

/// A change in an entry of a log.
#[derive(Clone, Debug)]
pub enum Change {
    /// A page at this position.
    Page(usize, Vec<u8>),
    /// Zeros: a position and a length.
    Zeros(u64, u64),
}

/// An entry of a log.
#[derive(Clone, Debug)]
pub struct Entry {
    pub sequence: u64,
    /// The position of the oldest entry that is needed, in the log.
    pub tail: usize,
    pub changes: Vec<Change>,
    pub flushed: u64,
    pub last: u64,
}

impl Entry {
    /// The bytes of the entry, in whole pages.
    pub fn bytes(&self) -> Vec<u8> {
        let mut entry = vec![0; 64];
        for change in &self.changes {
            let (name, trailing, leading, at) = match change {
                Change::Page(at, page) => (b"desc", page[PAGE - 4..].to_vec(), page[..8].to_vec(), *at as u64),
                Change::Zeros(at, len) => (b"zero", vec![0; 4], len.to_le_bytes().to_vec(), *at),
            };
            entry.extend([&name[..], &trailing, &leading, &at.to_le_bytes()].concat());
            entry.extend(self.sequence.to_le_bytes());
        }
        entry.resize(entry.len().next_multiple_of(PAGE), 0);
        for change in &self.changes {
            if let Change::Page(_, page) = change {
                let (high, low) = ((self.sequence >> 32) as u32, self.sequence as u32);
                entry.extend([b"data", &high.to_le_bytes()[..], &page[8..PAGE - 4], &low.to_le_bytes()].concat());
            }
        }
        put(&mut entry, 0, b"loge");
        let len = entry.len() as u32;
        put(&mut entry, 8, &len.to_le_bytes());
        put(&mut entry, 12, &(self.tail as u32).to_le_bytes());
        put(&mut entry, 16, &self.sequence.to_le_bytes());
        put(&mut entry, 24, &(self.changes.len() as u32).to_le_bytes());
        put(&mut entry, 32, &LOG_ID);
        put(&mut entry, 48, &self.flushed.to_le_bytes());
        put(&mut entry, 56, &self.last.to_le_bytes());
        let len = entry.len();
        seal(&mut entry, 0, len);
        entry
    }
}

/// Writes `bytes` to `at` of the log, which is in `file` and wraps at its end.
pub fn log_at(file: &mut [u8], log: std::ops::Range<usize>, at: usize, bytes: &[u8]) {
    for (number, byte) in bytes.iter().enumerate() {
        file[log.start + (at + number) % log.len()] = *byte;
    }
}
