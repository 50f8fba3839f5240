//! A small writer of Parallels images that qemu-img cannot make.

pub const SECTOR: usize = 512;
/// The position of the block allocation table.
pub const TABLE: usize = 64;
/// Values of the field that says whether the image is in use.
pub const OPEN: u32 = 0x746f_6e59;
pub const CLOSED: u32 = 0x312e_3276;

/// The content of a block of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Absent,
    /// Bytes from `content`.
    Data(u8),
}

/// The description of an image.
#[derive(Clone, Debug)]
pub struct Parallels<'a> {
    /// Whether the table counts blocks, and not sectors.
    pub is_ext: bool,
    /// Size of a block, in sectors.
    pub tracks: usize,
    /// Virtual size, in sectors.
    pub sectors: u64,
    pub blocks: &'a [Block],
    pub in_use: u32,
    /// Whether the header states where the data starts.
    pub states_start: bool,
}

impl<'a> Parallels<'a> {
    /// An image whose disk is all of `blocks`, and whose table counts blocks.
    pub fn new(tracks: usize, blocks: &'a [Block]) -> Self {
        let sectors = (tracks * blocks.len()) as u64;
        Self { is_ext: true, tracks, sectors, blocks, in_use: CLOSED, states_start: true }
    }

    pub fn block_size(&self) -> usize {
        self.tracks * SECTOR
    }

    /// The position of the first block in the file.
    pub fn data(&self) -> usize {
        let end = TABLE + 4 * self.blocks.len();
        end.next_multiple_of(if self.is_ext { self.block_size() } else { SECTOR })
    }

    /// The position of the entry of block `number`.
    pub fn entry(&self, number: usize) -> usize {
        TABLE + 4 * number
    }

    /// The value of an entry for a block at `place` of the file.
    pub fn value(&self, place: usize) -> u32 {
        (place / if self.is_ext { self.block_size() } else { SECTOR }) as u32
    }

    /// The file. Its blocks are in reverse guest order.
    pub fn file(&self) -> Vec<u8> {
        let mut file = vec![0; self.data()];
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, if self.is_ext { b"WithouFreSpacExt" } else { b"WithoutFreeSpace" });
        put(16, &2u32.to_le_bytes());
        put(20, &16u32.to_le_bytes());
        put(24, &7u32.to_le_bytes());
        put(28, &(self.tracks as u32).to_le_bytes());
        put(32, &(self.blocks.len() as u32).to_le_bytes());
        put(36, &self.sectors.to_le_bytes());
        put(44, &self.in_use.to_le_bytes());
        let start = if self.states_start { self.data() / SECTOR } else { 0 };
        put(48, &(start as u32).to_le_bytes());
        for (number, block) in self.blocks.iter().enumerate().rev() {
            if let Block::Data(seed) = block {
                let value = self.value(file.len());
                file[self.entry(number)..][..4].copy_from_slice(&value.to_le_bytes());
                file.extend(content(*seed, self.block_size()));
            }
        }
        file
    }

    pub fn disk(&self) -> Vec<u8> {
        let mut disk: Vec<u8> = self
            .blocks
            .iter()
            .flat_map(|block| match block {
                Block::Absent => vec![0; self.block_size()],
                Block::Data(seed) => content(*seed, self.block_size()),
            })
            .collect();
        disk.truncate(self.sectors as usize * SECTOR);
        disk
    }
}

/// Bytes that differ between seeds and between sectors.
pub fn content(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| seed.wrapping_add((at / SECTOR) as u8).wrapping_mul(31) ^ (at as u8 | 1)).collect()
}

/// The GUID of the current state, and of what is below the first one.
pub const TOP: &str = "{5fbaabe3-6958-40ff-92a7-860e329aab41}";
pub const NONE: &str = "{00000000-0000-0000-0000-000000000000}";

/// GUID, type and file of an image.
pub type BundleImage<'a> = (&'a str, &'a str, &'a str);

/// The description of a bundle: `DiskDescriptor.xml`.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    /// Virtual size, in sectors.
    pub sectors: u64,
    /// First sector, sector after the last one, and the images.
    pub storages: &'a [(u64, u64, &'a [BundleImage<'a>])],
    /// The current state, if it is stated.
    pub top: Option<&'a str>,
    /// States, and those below them.
    pub shots: &'a [(&'a str, &'a str)],
}

impl Bundle<'_> {
    pub fn xml(&self) -> String {
        let element = |name: &str, content: &str| format!("<{name}>{content}</{name}>\n");
        let image = |(id, kind, file): &BundleImage<'_>| {
            element("Image", &(element("GUID", id) + &element("Type", kind) + &element("File", file)))
        };
        let storage = |(start, end, images): &(u64, u64, &[BundleImage<'_>])| {
            let images: String = images.iter().map(image).collect();
            let range = element("Start", &start.to_string()) + &element("End", &end.to_string());
            element("Storage", &(range + &element("Blocksize", "2048") + &images))
        };
        let shot =
            |(id, parent): &(&str, &str)| element("Shot", &(element("GUID", id) + &element("ParentGUID", parent)));
        let storages: String = self.storages.iter().map(storage).collect();
        let shots: String = self.shots.iter().map(shot).collect();
        let top = self.top.map_or(String::new(), |top| element("TopGUID", top));
        let encryption = element("Encryption", &(element("Engine", NONE) + "<Data/>"));
        let size = element("Disk_size", &self.sectors.to_string()) + &element("LogicSectorSize", "512");
        let parameters = element("Disk_Parameters", &(size + &element("Padding", "0") + &encryption));
        format!(
            "<?xml version='1.0' encoding='UTF-8'?>\n<Parallels_disk_image Version=\"1.0\">\n{parameters}{}{}</Parallels_disk_image>\n",
            element("StorageData", &storages),
            element("Snapshots", &(top + &shots)),
        )
    }
}
