//! A second reader of VHDs, by the specification. It knows nothing of Decant.

const SECTOR: usize = 512;
const HEADER: usize = 1024;
const BLOCK: usize = 2 << 20;
const UNUSED: u32 = u32::MAX;

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(file[at..at + 4].try_into().unwrap())
}

fn u64_at(file: &[u8], at: usize) -> usize {
    u64::from_be_bytes(file[at..at + 8].try_into().unwrap()) as usize
}

/// The structure of `len` bytes at `at`, if it has this cookie, and at `sum_at` the checksum of its bytes.
fn structure<'a>(file: &'a [u8], at: usize, len: usize, cookie: &[u8], sum_at: usize) -> Option<&'a [u8]> {
    let structure = file.get(at..at.checked_add(len)?)?;
    let sum: u32 = structure[..sum_at].iter().chain(&structure[sum_at + 4..]).map(|&byte| u32::from(byte)).sum();
    (structure.starts_with(cookie) && u32_at(structure, sum_at) == !sum).then_some(structure)
}

/// The footer, at the end or else its copy at the start, and the header that it refers to.
fn structures(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let footer_at = |at| structure(file, at, SECTOR, b"conectix", 64);
    let footer = file.len().checked_sub(SECTOR).and_then(footer_at).or_else(|| footer_at(0))?;
    let header = structure(file, u64_at(footer, 16), HEADER, b"cxsparse", 36)?;
    Some((footer, header))
}

/// The disk of a fixed VHD: all that is before an intact footer.
pub fn fixed(file: &[u8]) -> Option<Vec<u8>> {
    let end = file.len().checked_sub(SECTOR)?;
    let footer = structure(file, end, SECTOR, b"conectix", 64)?;
    ((u64_at(footer, 48), u32_at(footer, 60)) == (end, 2)).then(|| file[..end].to_vec())
}

/// Whether a reader that is content with one of the two footers takes `file` for an image.
pub fn opens(file: Vec<u8>) -> bool {
    structures(&file).is_some()
}

/// Returns the disk of an image in which all is as Decant writes it.
pub fn disk(file: Vec<u8>) -> Vec<u8> {
    let (footer, header) = structures(&file).expect("no image");
    let end = file.len() - SECTOR;
    assert!(footer == &file[..SECTOR] && footer == &file[end..], "the two footers differ");
    assert_eq!((u64_at(footer, 16), u32_at(footer, 60)), (SECTOR, 3), "not a dynamic disk");
    let size = u64_at(footer, 48);
    assert_eq!((u64_at(header, 8), u32_at(header, 24), u32_at(header, 32)), (usize::MAX, 0x1_0000, BLOCK as u32));
    assert!(header[40..].iter().all(|&byte| byte == 0), "it has a parent");
    let (table, entries) = (u64_at(header, 16), u32_at(header, 28) as usize);
    assert_eq!((table, entries), (SECTOR + HEADER, size.div_ceil(BLOCK)));
    let table_end = (table + entries * 4).next_multiple_of(SECTOR);
    assert!(file[table + entries * 4..table_end].iter().all(|&byte| byte == 0xff), "other padding of the table");
    let (mut disk, mut next) = (vec![0; entries * BLOCK], table_end);
    for (number, block) in disk.chunks_mut(BLOCK).enumerate() {
        let sector = u32_at(&file, table + number * 4);
        if sector == UNUSED {
            continue;
        }
        let bitmap = sector as usize * SECTOR;
        let data = bitmap + SECTOR;
        assert!(bitmap >= next && data - next < SECTOR + 4096 && data.is_multiple_of(4096), "{number} at {sector}");
        assert!(file[next..bitmap].iter().all(|&byte| byte == 0), "bytes before block {number}");
        assert!(file[bitmap..data].iter().all(|&byte| byte == 0xff), "sectors of block {number} are missing");
        next = data + BLOCK;
        block.copy_from_slice(&file[data..next]);
        assert!(block.iter().any(|&byte| byte != 0), "block {number} is zeros");
    }
    assert_eq!(next, end, "the footer does not follow the last block");
    assert!(disk[size..].iter().all(|&byte| byte == 0), "data after the disk");
    disk.truncate(size);
    disk
}
