//! A second, strict reader of VHDX: the rules of MS-VHDX that Hyper-V, Windows, VirtualBox, QEMU and 7-Zip enforce between them. It knows
//! nothing of Decant.

use crate::common::vhdx::crc32c;
use std::ops::Range;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const HEADERS: [usize; 2] = [64 * KIB, 128 * KIB];
const TABLES: [usize; 2] = [192 * KIB, 256 * KIB];
/// GUIDs as files have them.
const BAT: &str = "6677c22d23f600429d64115e9bfd4a08";
const METADATA: &str = "06a27c8b90479a4bb8fe575f050f886e";
/// The metadata items: GUID, length, flags.
const ITEMS: [(&str, usize, u32); 5] = [
    ("3767a1ca36fa434db3b633f0aa44e76b", 8, 4),
    ("2442a52f1bcd7648b2115dbed83bf4b8", 8, 6),
    ("1dbf41816fa90947ba47f233a8faab5f", 4, 6),
    ("c748a3cd5d4471449cc9e9885251c556", 4, 6),
    ("ab12cabee6b2234593efc309e000c746", 16, 6),
];

/// What a reader finds.
#[derive(Debug)]
pub struct Found {
    pub size: usize,
    pub block_size: usize,
    pub sectors: [u32; 2],
    pub is_fixed: bool,
    /// The identifier of the disk.
    pub id: Vec<u8>,
    pub disk: Vec<u8>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn require(is_met: bool, rule: &'static str) -> Result<(), &'static str> {
    if is_met { Ok(()) } else { Err(rule) }
}

/// A structure of `len` bytes with a signature and a checksum.
fn checked<'a>(file: &'a [u8], at: usize, len: usize, signature: &[u8]) -> Option<&'a [u8]> {
    let bytes = file.get(at..at + len)?;
    let mut zeroed = bytes.to_vec();
    zeroed[4..8].fill(0);
    (bytes.starts_with(signature) && u32_at(bytes, 4) == crc32c(&zeroed)).then_some(bytes)
}

/// Whether a reader that is content with one header and one region table takes `file` for an image.
pub fn opens(file: Vec<u8>) -> bool {
    let any =
        |places: [usize; 2], len, signature| places.iter().any(|&at| checked(&file, at, len, signature).is_some());
    file.starts_with(b"vhdxfile") && any(HEADERS, 4 * KIB, b"head") && any(TABLES, 64 * KIB, b"regi")
}

/// The disk of an image in which all is as Decant writes it.
pub fn disk(file: Vec<u8>) -> Vec<u8> {
    read(&file).unwrap_or_else(|rule| panic!("{rule}")).disk
}

/// Reads an image. Fails with the first rule that it breaks.
pub fn read(file: &[u8]) -> Result<Found, &'static str> {
    require(file.starts_with(b"vhdxfile"), "the signature of the file")?;
    let log = headers(file)?;
    let (bat, metadata) = regions(file, &log)?;
    let (mut found, has_parent) = items(&file[metadata.clone()])?;
    require(!has_parent, "no parent")?;
    let reserved = [0..MIB, log, bat.clone(), metadata];
    let blocks = entries(&file[bat.clone()], &found)?;
    let mut next = reserved.iter().map(|range| range.end).max().unwrap();
    found.disk = vec![0; blocks.len() * found.block_size];
    for (block, disk) in blocks.into_iter().zip(found.disk.chunks_mut(found.block_size)) {
        let Some(at) = block else {
            require(!found.is_fixed, "a fixed disk has all blocks")?;
            continue;
        };
        require(!reserved.iter().any(|range| range.contains(&at)), "blocks are outside of the regions")?;
        require(at + found.block_size <= file.len(), "blocks are whole, and inside the file")?;
        require(at == next, "blocks follow one another in guest order")?;
        next += found.block_size;
        disk.copy_from_slice(&file[at..next]);
    }
    require(file.len() == next, "the file ends with its last block")?;
    require(is_zero(&found.disk[found.size..]), "nothing after the disk")?;
    found.disk.truncate(found.size);
    Ok(found)
}

/// Checks the headers. Returns the place of the log.
fn headers(file: &[u8]) -> Result<Range<usize>, &'static str> {
    let [Some(first), Some(second)] = HEADERS.map(|at| checked(file, at, 4 * KIB, b"head")) else {
        return Err("both headers have their checksum");
    };
    let sequences = [u64_at(first, 8), u64_at(second, 8)];
    require(sequences[0] != sequences[1] || first[8..] == second[8..], "headers of one sequence number are identical")?;
    let header = if sequences[0] > sequences[1] { first } else { second };
    require(!is_zero(&header[16..32]) && !is_zero(&header[32..48]), "the identifiers of the file and its content")?;
    require(is_zero(&header[48..64]), "the log is empty")?;
    require(u32_at(header, 64) == 1 << 16, "the versions of the log and of the file")?;
    let (len, offset) = (u32_at(header, 68) as usize, u64_at(header, 72));
    let is_placed = offset >= MIB && offset.is_multiple_of(MIB) && len.is_multiple_of(MIB) && len > 0;
    require(is_placed, "the log has whole MiB after the header section")?;
    require(len <= KIB * MIB && offset + len <= file.len(), "the log is inside the file")?;
    require(is_zero(&file[offset..offset + len]), "the log has no entries")?;
    require(is_zero(&header[80..]), "the rest of a header is zero")?;
    Ok(offset..offset + len)
}

/// Checks the region tables. Returns the places of the BAT and of the metadata.
fn regions(file: &[u8], log: &Range<usize>) -> Result<(Range<usize>, Range<usize>), &'static str> {
    let [Some(table), Some(copy)] = TABLES.map(|at| checked(file, at, 64 * KIB, b"regi")) else {
        return Err("both region tables have their checksum");
    };
    require(table == copy, "both region tables are alike")?;
    let count = u32_at(table, 8) as usize;
    require(count <= 2047 && u32_at(table, 12) == 0, "the number of regions, and reserved bytes")?;
    let (mut places, mut known) = (vec![0..MIB, log.clone()], [None, None]);
    for entry in table[16..].chunks(32).take(count) {
        let (guid, offset) = (hex(&entry[..16]), u64_at(entry, 16));
        let (len, flags) = (u32_at(entry, 24) as usize, u32_at(entry, 28));
        require(flags == 1, "regions are required, and have no other flag")?;
        let is_placed = offset >= MIB && offset.is_multiple_of(MIB) && len.is_multiple_of(MIB) && len > 0;
        require(is_placed, "regions have whole MiB after the header section")?;
        require(offset + len <= file.len(), "regions are inside the file")?;
        let Some(number) = [BAT, METADATA].iter().position(|known| *known == guid) else { return Err("known regions") };
        require(known[number].replace(offset..offset + len).is_none(), "no region is listed twice")?;
        let overlap = places.iter().any(|place| place.start < offset + len && offset < place.end);
        require(!overlap, "regions do not overlap")?;
        places.push(offset..offset + len);
    }
    require(is_zero(&table[16 + count * 32..]), "the rest of the region table is zero")?;
    let [Some(bat), Some(metadata)] = known else { return Err("both regions are there") };
    require(metadata.len() <= 128 * MIB, "the metadata has at most 128 MiB")?;
    Ok((bat, metadata))
}

/// Checks the metadata. Returns the description of the disk, without its data, and whether it has a parent.
fn items(region: &[u8]) -> Result<(Found, bool), &'static str> {
    require(region.starts_with(b"metadata"), "the signature of the metadata")?;
    let count = usize::from(u16::from_le_bytes([region[10], region[11]]));
    require(is_zero(&region[8..10]) && is_zero(&region[12..32]), "reserved bytes of the metadata table")?;
    let mut items: [Option<&[u8]>; ITEMS.len()] = [None; ITEMS.len()];
    let mut places: Vec<Range<usize>> = Vec::new();
    for entry in region[32..64 * KIB].chunks(32).take(count) {
        let (offset, len, flags) = (u32_at(entry, 16) as usize, u32_at(entry, 20) as usize, u32_at(entry, 24));
        let guid = hex(&entry[..16]);
        let Some(number) = ITEMS.iter().position(|item| item.0 == guid) else { return Err("known metadata items") };
        require(flags == ITEMS[number].2, "the flags of a metadata item")?;
        require(u32_at(entry, 28) == 0, "reserved bytes of a metadata item")?;
        require(len == ITEMS[number].1, "the length of a metadata item")?;
        require(
            offset >= 64 * KIB && offset + len <= region.len(),
            "metadata items are between their table and its end",
        )?;
        let overlap = places.iter().any(|place| place.start < offset + len && offset < place.end);
        require(!overlap, "metadata items do not overlap")?;
        places.push(offset..offset + len);
        require(items[number].replace(&region[offset..offset + len]).is_none(), "no metadata item is listed twice")?;
    }
    require(is_zero(&region[32 + count * 32..64 * KIB]), "the rest of the metadata table is zero")?;
    let [Some(parameters), Some(size), Some(logical), Some(physical), Some(id)] = items else {
        return Err("all metadata items are there");
    };
    let (block_size, flags) = (u32_at(parameters, 0) as usize, u32_at(parameters, 4));
    require(block_size.is_power_of_two() && (MIB..=256 * MIB).contains(&block_size), "the size of blocks")?;
    require(flags <= 3, "the flags of the file parameters")?;
    let sectors = [u32_at(logical, 0), u32_at(physical, 0)];
    require(sectors.iter().all(|sector| [512, 4096].contains(sector)), "the sizes of sectors")?;
    let size = u64_at(size, 0);
    require(size > 0 && size as u64 <= 64 << 40 && size.is_multiple_of(sectors[0] as usize), "the size of the disk")?;
    require(!is_zero(id), "the identifier of the disk")?;
    let (id, disk) = (id.to_vec(), Vec::new());
    Ok((Found { size, block_size, sectors, is_fixed: flags & 1 != 0, id, disk }, flags & 2 != 0))
}

/// Checks the entries of the BAT. Returns the place of each block that is in the file.
fn entries(bat: &[u8], disk: &Found) -> Result<Vec<Option<usize>>, &'static str> {
    let (blocks, ratio) = (disk.size.div_ceil(disk.block_size), (disk.sectors[0] as usize * 8 * MIB) / disk.block_size);
    let count = blocks + (blocks - 1) / ratio;
    require(count * 8 <= bat.len(), "the region of the BAT is large enough")?;
    require(is_zero(&bat[count * 8..]), "the rest of the BAT is zero")?;
    let mut places = Vec::new();
    for (number, entry) in bat[..count * 8].chunks(8).enumerate() {
        let entry = u64_at(entry, 0);
        if number % (ratio + 1) == ratio {
            require(entry == 0, "sector bitmaps are not in the file")?;
            continue;
        }
        let (state, offset) = (entry & 7, entry >> 20 << 20);
        require(entry & 0xf_fff8 == 0, "reserved bits of an entry")?;
        require([0, 2, 6].contains(&state), "the state of a block")?;
        require(state == 6 || offset == 0, "a block that is not in the file has no offset")?;
        places.push((state == 6).then_some(offset));
    }
    Ok(places)
}
