//! A second reader of stream-optimized VMDKs, in order and by markers, as importers read them (Virtual Disk Format 5.0,
//! "Stream-Optimized Compressed Sparse Extents"). It knows nothing of Decant.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use std::collections::BTreeMap;

const SECTOR: usize = 512;
/// The size of a grain, in sectors.
const GRAIN: usize = 128;
const GRAINS_PER_TABLE: usize = 512;
/// The flags of a header: line ends, compressed grains, and markers.
const FLAGS: u32 = 0x3_0001;
const GRAIN_TABLE: u32 = 1;
const GRAIN_DIRECTORY: u32 = 2;
const FOOTER: u32 = 3;

type Checked<T> = Result<T, &'static str>;

fn require(is_kept: bool, rule: &'static str) -> Checked<()> {
    if is_kept { Ok(()) } else { Err(rule) }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

fn entries(bytes: &[u8]) -> Vec<usize> {
    bytes.as_chunks().0.iter().map(|entry| u32::from_le_bytes(*entry) as usize).collect()
}

/// `count` sectors from the sector `at` on.
fn sectors(file: &[u8], at: usize, count: usize) -> Checked<&[u8]> {
    let range = at.checked_mul(SECTOR).zip(at.checked_add(count).and_then(|end| end.checked_mul(SECTOR)));
    range.and_then(|(start, end)| file.get(start..end)).ok_or("the file has all of a structure")
}

/// The size of the disk that a header, or its copy in the footer, states, in sectors.
fn size_in(header: &[u8]) -> Checked<usize> {
    require(header.starts_with(b"KDMV") && (1..=3).contains(&u32_at(header, 4)), "the magic number and the version")?;
    require(u32_at(header, 8) & FLAGS == FLAGS && header[77..79] == [1, 0], "compressed grains with markers")?;
    require(
        u64_at(header, 20) == GRAIN && u32_at(header, 44) as usize == GRAINS_PER_TABLE,
        "the sizes of grains and tables",
    )?;
    require(header[73..77] == *b"\n \r\n", "line ends")?;
    Ok(u64_at(header, 12))
}

/// Checks the descriptor of a disk of `size` sectors without a parent.
fn check_descriptor(bytes: &[u8], size: usize) -> Checked<()> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    require(bytes[end..].iter().all(|&byte| byte == 0), "nothing after the descriptor")?;
    let text = std::str::from_utf8(&bytes[..end])
        .ok()
        .filter(|text| text.is_ascii())
        .ok_or("the characters of the descriptor")?;
    let mut lines: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut take = |is_it: &dyn Fn(&str) -> bool| {
        let found = lines.iter().position(|line| is_it(line));
        found.map(|at| lines.remove(at)).ok_or("the lines of the descriptor")
    };
    take(&|line| line == "version=1")?;
    take(&|line| line.strip_prefix("CID=").is_some_and(|id| u32::from_str_radix(id, 16).is_ok()))?;
    take(&|line| line == "parentCID=ffffffff")?;
    take(&|line| line == "createType=\"streamOptimized\"")?;
    take(&|line| line == format!("RW {size} SPARSE \"disk.vmdk\""))?;
    require(lines.iter().all(|line| line.starts_with("ddb.") && line.contains(" = \"")), "the disk data base")
}

/// The disk of an image whose grains, tables, directory and footer follow one another and agree.
pub fn disk(file: &[u8]) -> Checked<Vec<u8>> {
    let header = sectors(file, 0, 1)?;
    let size = size_in(header)?;
    require(u64_at(header, 56) as u64 == u64::MAX, "the directory is at the end")?;
    check_descriptor(sectors(file, u64_at(header, 28), u64_at(header, 36))?, size)?;
    let (mut grains, mut in_table) = (BTreeMap::new(), BTreeMap::new());
    let (mut tables, mut directory) = (BTreeMap::new(), None);
    let mut at = u64_at(header, 64);
    loop {
        let marker = sectors(file, at, 1)?;
        let (value, len, kind) = (u64_at(marker, 0), u32_at(marker, 8) as usize, u32_at(marker, 12));
        if len > 0 {
            let zlib = file.get(at * SECTOR + 12..at * SECTOR + 12 + len).ok_or("whole grains")?;
            let data = decompress_to_vec_zlib_with_limit(zlib, GRAIN * SECTOR).map_err(|_| "zlib")?;
            let follows = grains.last_key_value().is_none_or(|(&last, _)| value > last);
            require(follows && value.is_multiple_of(GRAIN) && value < size, "grains are in guest order")?;
            require(data.len() == GRAIN * SECTOR || data.len() == (size - value) * SECTOR, "the size of a grain")?;
            grains.insert(value, data);
            in_table.insert(value / GRAIN, at);
            at += (12 + len).div_ceil(SECTOR);
            continue;
        }
        let structure = sectors(file, at + 1, value)?;
        match kind {
            GRAIN_TABLE => {
                let table = in_table.first_key_value().ok_or("a table has grains")?.0 / GRAINS_PER_TABLE;
                let expected = |entry| in_table.get(&(table * GRAINS_PER_TABLE + entry)).copied().unwrap_or(0);
                let is_right =
                    entries(structure).into_iter().enumerate().all(|(entry, sector)| sector == expected(entry));
                require(structure.len() == GRAINS_PER_TABLE * 4 && is_right, "a table lists the grains before it")?;
                tables.insert(table, at + 1);
                in_table.clear();
            }
            GRAIN_DIRECTORY => {
                let expected = |entry| tables.get(&entry).copied().unwrap_or(0);
                let is_right =
                    entries(structure).into_iter().enumerate().all(|(entry, sector)| sector == expected(entry));
                require(in_table.is_empty() && is_right, "the directory lists all tables")?;
                directory = Some(at + 1);
            }
            FOOTER => {
                require(value == 1 && size_in(structure)? == size, "the footer is like the header")?;
                require(Some(u64_at(structure, 56)) == directory, "the footer has the place of the directory")?;
                let end = sectors(file, at + 2, 1)?;
                require(end.iter().all(|&byte| byte == 0) && file.len() == (at + 3) * SECTOR, "the marker of the end")?;
                break;
            }
            _ => return Err("the kind of a marker"),
        }
        at += 1 + value;
    }
    let mut disk = vec![0; size * SECTOR];
    for (sector, data) in grains {
        let (start, len) = (sector * SECTOR, data.len().min((size - sector) * SECTOR));
        disk[start..start + len].copy_from_slice(&data[..len]);
    }
    Ok(disk)
}
