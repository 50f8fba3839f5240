//! A small writer of VMDKs that qemu-img cannot make.

#![allow(dead_code)] // Each test binary uses its part.

pub const SECTOR: usize = 512;
/// Descriptors are in sectors 1 to 20 of a "KDMV" file.
const DESCRIPTOR_SECTORS: usize = 20;
pub const DESCRIPTOR: usize = SECTOR;
/// The start of the tables, or of the grains if there is a footer.
pub const TABLES: usize = SECTOR + DESCRIPTOR_SECTORS * SECTOR;

/// How grains are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    /// Compressed, after a marker.
    Marked,
    /// Compressed, after a length.
    Length,
    /// Compressed.
    Bare,
}

/// The content of a grain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grain {
    Absent,
    Zero,
    /// Stored to this length.
    Data(Vec<u8>),
}

/// A file that begins with "KDMV". Sizes are in sectors.
#[derive(Clone, Debug)]
pub struct Kdmv {
    pub version: u32,
    pub capacity: u64,
    pub grain: u64,
    pub table_entries: usize,
    /// Whether grains of zeros are announced.
    pub zeroed_flag: bool,
    pub redundant: bool,
    pub packing: Packing,
    pub footer: bool,
    /// With a footer: whether each table follows its grains, instead of all grains.
    pub tables_between: bool,
    pub descriptor: Option<String>,
}

impl Default for Kdmv {
    fn default() -> Self {
        Self {
            version: 1,
            capacity: 64,
            grain: 8,
            table_entries: 512,
            zeroed_flag: true,
            redundant: false,
            packing: Packing::Plain,
            footer: false,
            tables_between: false,
            descriptor: Some(descriptor("monolithicSparse", "RW 64 SPARSE \"a.vmdk\"\n")),
        }
    }
}

/// A descriptor without a parent.
pub fn descriptor(create_type: &str, extents: &str) -> String {
    format!(
        "# Disk DescriptorFile\nversion=1\nCID=11223344\nparentCID=ffffffff\ncreateType=\"{create_type}\"\n\n\
         # Extent description\n{extents}\n#DDB\n\nddb.adapterType = \"ide\"\n"
    )
}

/// `len` bytes that identify `seed` and their position.
pub fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 5) as u8 ^ (at / SECTOR) as u8 ^ seed | 1).collect()
}

/// Grains of 8 sectors; numbers 0 and 3 and the last one have data.
pub fn few_grains() -> Vec<Grain> {
    let data = |seed: u8| Grain::Data(pattern(seed, 8 * SECTOR));
    let mut grains = vec![data(1), Grain::Absent, Grain::Zero, data(2)];
    grains.extend([Grain::Absent, Grain::Absent, Grain::Absent, data(3)]);
    grains
}

/// The disk of `grains`; absent ones are zeros.
pub fn disk(capacity: u64, grain: u64, grains: &[Grain]) -> Vec<u8> {
    let mut disk = vec![0; capacity as usize * SECTOR];
    for (number, content) in grains.iter().enumerate() {
        if let Grain::Data(bytes) = content {
            let start = number * grain as usize * SECTOR;
            let len = bytes.len().min(disk.len() - start);
            disk[start..start + len].copy_from_slice(&bytes[..len]);
        }
    }
    disk
}

fn pad(file: &mut Vec<u8>) {
    file.resize(file.len().next_multiple_of(SECTOR), 0);
}

/// The number of the sector at the end of `file`.
fn sector(file: &[u8]) -> u32 {
    (file.len() / SECTOR) as u32
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6)
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

fn marker(file: &mut Vec<u8>, sectors: u64, kind: u32) {
    let start = file.len();
    file.resize(start + SECTOR, 0);
    put(file, start, &sectors.to_le_bytes());
    put(file, start + 12, &kind.to_le_bytes());
}

impl Kdmv {
    pub fn build(&self, grains: &[Grain]) -> Vec<u8> {
        let tables = (self.capacity as usize).div_ceil(self.grain as usize * self.table_entries);
        let table_len = (self.table_entries * 4).next_multiple_of(SECTOR);
        let directory_len = (tables * 4).next_multiple_of(SECTOR);
        let mut file = vec![0; TABLES];
        if let Some(text) = &self.descriptor {
            put(&mut file, DESCRIPTOR, text.as_bytes());
        }
        // (directory, first table) of each of them
        let mut places = Vec::new();
        if !self.footer {
            for _ in 0..1 + usize::from(self.redundant) {
                let directory = file.len();
                file.resize(directory + directory_len + tables * table_len, 0);
                places.push((directory, directory + directory_len));
            }
        }
        let mut entries = vec![0u32; tables * self.table_entries];
        let mut names = Vec::new();
        for (number, content) in grains.iter().enumerate() {
            if self.tables_between && number > 0 && number % self.table_entries == 0 {
                names.push(self.table(&mut file, &entries[number - self.table_entries..number]));
            }
            entries[number] = match content {
                Grain::Absent => 0,
                Grain::Zero => 1,
                Grain::Data(bytes) => {
                    let at = sector(&file);
                    self.store(&mut file, number as u64 * self.grain, bytes);
                    at
                }
            };
        }
        let bytes = |entries: &[u32]| entries.iter().flat_map(|entry| entry.to_le_bytes()).collect::<Vec<_>>();
        for &(directory, first) in &places {
            let names: Vec<u32> = (0..tables).map(|table| ((first + table * table_len) / SECTOR) as u32).collect();
            put(&mut file, directory, &bytes(&names));
            for (number, table) in entries.chunks(self.table_entries).enumerate() {
                put(&mut file, first + number * table_len, &bytes(table));
            }
        }
        let redundant = places.get(1).map_or(0, |_| places[0].0);
        let directory = places.last().map_or(u64::MAX, |(directory, _)| (directory / SECTOR) as u64);
        let header = self.header(directory, (redundant / SECTOR) as u64);
        put(&mut file, 0, &header);
        if self.footer {
            for table in entries.chunks(self.table_entries).skip(names.len()) {
                names.push(self.table(&mut file, table));
            }
            self.finish(&mut file, &names);
        }
        file
    }

    fn store(&self, file: &mut Vec<u8>, lba: u64, bytes: &[u8]) {
        let stream = zlib(bytes);
        let len = (stream.len() as u32).to_le_bytes();
        match self.packing {
            Packing::Plain => file.extend(bytes),
            Packing::Marked => [&lba.to_le_bytes()[..], &len, &stream].iter().for_each(|part| file.extend(*part)),
            Packing::Length => [&len[..], &stream].iter().for_each(|part| file.extend(*part)),
            Packing::Bare => file.extend(stream),
        }
        pad(file);
    }

    /// A table of a stream. Returns its sector; 0 for an empty table, which is left out.
    fn table(&self, file: &mut Vec<u8>, table: &[u32]) -> u32 {
        if table.iter().all(|&entry| entry == 0) {
            return 0;
        }
        marker(file, (self.table_entries * 4).div_ceil(SECTOR) as u64, 1);
        let place = sector(file);
        file.extend(table.iter().flat_map(|entry| entry.to_le_bytes()));
        pad(file);
        place
    }

    /// Directory, footer and end of a stream.
    fn finish(&self, file: &mut Vec<u8>, names: &[u32]) {
        marker(file, 1, 2);
        let directory = u64::from(sector(file));
        file.extend(names.iter().flat_map(|name: &u32| name.to_le_bytes()));
        pad(file);
        marker(file, 1, 3);
        file.extend(self.header(directory, 0));
        marker(file, 0, 0);
    }

    fn header(&self, directory: u64, redundant: u64) -> Vec<u8> {
        let mut header = vec![0; SECTOR];
        let mut flags = 1;
        let compression: u16 = if self.packing == Packing::Plain { 0 } else { 1 };
        flags |= u32::from(self.redundant) << 1 | u32::from(self.zeroed_flag) << 2;
        flags |= u32::from(compression) << 16 | u32::from(self.packing == Packing::Marked) << 17;
        let (at, len) = if self.descriptor.is_some() { (1u64, DESCRIPTOR_SECTORS as u64) } else { (0, 0) };
        put(&mut header, 0, b"KDMV");
        put(&mut header, 4, &self.version.to_le_bytes());
        put(&mut header, 8, &flags.to_le_bytes());
        put(&mut header, 12, &self.capacity.to_le_bytes());
        put(&mut header, 20, &self.grain.to_le_bytes());
        put(&mut header, 28, &at.to_le_bytes());
        put(&mut header, 36, &len.to_le_bytes());
        put(&mut header, 44, &(self.table_entries as u32).to_le_bytes());
        put(&mut header, 48, &redundant.to_le_bytes());
        put(&mut header, 56, &directory.to_le_bytes());
        put(&mut header, 64, &((TABLES / SECTOR) as u64).to_le_bytes());
        put(&mut header, 73, b"\n \r\n");
        put(&mut header, 77, &compression.to_le_bytes());
        header
    }
}

/// A COWD extent with grains of `grain` sectors.
pub fn cowd(capacity: u32, grain: u32, grains: &[Grain]) -> Vec<u8> {
    const ENTRIES: usize = 4096;
    let tables = (capacity as usize).div_ceil(grain as usize * ENTRIES);
    let mut file = vec![0; 4 * SECTOR];
    let fields = [1, 3, capacity, grain, 4, tables as u32];
    put(&mut file, 0, b"COWD");
    for (number, field) in fields.iter().enumerate() {
        put(&mut file, 4 + number * 4, &field.to_le_bytes());
    }
    let directory = file.len();
    file.resize(directory + (tables * 4).next_multiple_of(SECTOR), 0);
    for (table, grains) in grains.chunks(ENTRIES).enumerate() {
        if grains.iter().all(|grain| *grain == Grain::Absent) {
            continue;
        }
        let start = file.len();
        put(&mut file, directory + table * 4, &((start / SECTOR) as u32).to_le_bytes());
        file.resize(start + ENTRIES * 4, 0);
        for (number, content) in grains.iter().enumerate() {
            if let Grain::Data(bytes) = content {
                let at = sector(&file);
                put(&mut file, start + number * 4, &at.to_le_bytes());
                file.extend(bytes);
                pad(&mut file);
            }
        }
    }
    file
}

/// Positions in a SESparse extent.
pub const SE_VOLATILE: usize = SECTOR;
pub const SE_DIRECTORY: usize = 2 * SECTOR;
pub const SE_TABLES: usize = 3 * SECTOR;

/// A SESparse extent; grains of zeros are of both kinds in turn.
pub fn sesparse(capacity: u64, grains: &[Grain]) -> Vec<u8> {
    const ENTRIES: usize = 4096;
    let tables = (capacity as usize).div_ceil(8 * ENTRIES);
    let first_grain = SE_TABLES + tables * ENTRIES * 8;
    let mut file = vec![0; first_grain];
    let mut field = |number: usize, value: u64| put(&mut file, number * 8, &value.to_le_bytes());
    let fields = [0xcafe_babe, 0x2_0000_0001, capacity, 8, 64, 0];
    fields.into_iter().enumerate().for_each(|(number, value)| field(number, value));
    let places = [(10, SE_VOLATILE), (16, SE_DIRECTORY), (17, SECTOR), (18, SE_TABLES), (24, first_grain)];
    places.iter().for_each(|&(number, at)| field(number, (at / SECTOR) as u64));
    put(&mut file, SE_VOLATILE, &0xcafe_cafe_u64.to_le_bytes());
    // Tables in reverse, so that their numbers matter.
    for table in 0..tables {
        let number = (tables - 1 - table) as u64;
        put(&mut file, SE_DIRECTORY + table * 8, &(0x1000_0000 << 32 | number).to_le_bytes());
    }
    for (number, content) in grains.iter().enumerate() {
        let table = tables - 1 - number / ENTRIES;
        let entry = match content {
            Grain::Absent => 0,
            Grain::Zero => (1 + number as u64 % 2) << 60,
            Grain::Data(bytes) => {
                let index = ((file.len() - first_grain) / 4096) as u64;
                file.extend(bytes);
                file.resize(first_grain + (file.len() - first_grain).next_multiple_of(4096), 0);
                3 << 60 | (index & 0xfff) << 48 | index >> 12
            }
        };
        put(&mut file, SE_TABLES + (table * ENTRIES + number % ENTRIES) * 8, &entry.to_le_bytes());
    }
    file
}
