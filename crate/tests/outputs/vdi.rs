//! A second, strict reader of VDI: the rules of VirtualBox (`VDI.cpp`) and of QEMU. It knows nothing of Decant.

const MIB: usize = 1 << 20;
const FREE: u32 = u32::MAX;
const TEXT: &[u8] = b"<<< Oracle VM VirtualBox Disk Image >>>\n";

/// What a reader finds.
#[derive(Debug)]
pub struct Found {
    /// The identifiers of the disk and of its state.
    pub ids: [Vec<u8>; 2],
    pub disk: Vec<u8>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn require(is_met: bool, rule: &'static str) -> Result<(), &'static str> {
    if is_met { Ok(()) } else { Err(rule) }
}

/// Whether a reader that looks at the signature takes `file` for an image.
pub fn opens(file: Vec<u8>) -> bool {
    file.get(64..68).is_some_and(|signature| signature == [0x7f, 0x10, 0xda, 0xbe])
}

/// The disk of an image in which all is as Decant writes it.
pub fn disk(file: Vec<u8>) -> Vec<u8> {
    read(&file).unwrap_or_else(|rule| panic!("{rule}")).disk
}

/// Reads an image. Fails with the first rule that it breaks.
pub fn read(file: &[u8]) -> Result<Found, &'static str> {
    require(file.starts_with(TEXT) && is_zero(&file[TEXT.len()..64]), "the text at the start")?;
    require(opens(file.to_vec()), "the signature of the file")?;
    require(u32_at(file, 68) == 0x1_0001, "the version is that of VirtualBox")?;
    require(u32_at(file, 72) == 400, "the length of the header")?;
    let kind = u32_at(file, 76);
    require([1, 2].contains(&kind), "the type is dynamic or fixed")?;
    require(u32_at(file, 80) == 0, "no flags")?;
    require(is_zero(&file[84..340]), "no comment")?;
    let (map, data) = (u32_at(file, 340) as usize, u32_at(file, 344) as usize);
    let geometry_is_unset = |at: usize| is_zero(&file[at..at + 12]) && u32_at(file, at + 12) == 512;
    require(geometry_is_unset(348), "the first geometry has sectors of 512 bytes, and nothing else")?;
    require(geometry_is_unset(456), "the second geometry has sectors of 512 bytes, and nothing else")?;
    require(u32_at(file, 364) == 0, "reserved bytes of the header")?;
    let size = u64::from_le_bytes(file[368..376].try_into().unwrap()) as usize;
    let (block_size, extra) = (u32_at(file, 376) as usize, u32_at(file, 380));
    let (blocks, allocated) = (u32_at(file, 384) as usize, u32_at(file, 388) as usize);
    require(size > 0 && size.is_multiple_of(512), "the size of the disk")?;
    require(block_size == MIB, "blocks have 1 MiB")?;
    require(extra == 0, "blocks have nothing before their data")?;
    require(blocks == size.div_ceil(block_size), "the number of blocks")?;
    require(map >= 472 && map.is_multiple_of(MIB), "the map is after the header, at a whole MiB")?;
    require(data >= map + 4 * blocks && data.is_multiple_of(MIB), "blocks are after the map, at a whole MiB")?;
    let ids = [392, 408].map(|at| file[at..at + 16].to_vec());
    require(ids.iter().all(|id| !is_zero(id)), "the identifiers of the disk and of its state")?;
    require(ids[0] != ids[1], "the two identifiers differ")?;
    require(is_zero(&file[424..456]), "no parent")?;
    require(is_zero(&file[472..map]), "nothing between the header and the map")?;
    require(is_zero(&file[map + 4 * blocks..data]), "nothing between the map and the blocks")?;
    let (mut disk, mut next) = (vec![0; blocks * block_size], 0);
    for (number, block) in disk.chunks_mut(block_size).enumerate() {
        let entry = u32_at(file, map + 4 * number);
        if entry == FREE {
            require(kind == 1, "a fixed disk has all blocks")?;
            continue;
        }
        require(entry as usize == next, "blocks follow one another in guest order")?;
        let at = data + next * block_size;
        require(at + block_size <= file.len(), "blocks are whole, and inside the file")?;
        block.copy_from_slice(&file[at..at + block_size]);
        require(kind == 2 || !is_zero(block), "a block of zeros is not in the file")?;
        next += 1;
    }
    require(allocated == next, "the number of blocks in the file")?;
    require(file.len() == data + next * block_size, "the file ends with its last block")?;
    require(is_zero(&disk[size..]), "nothing after the disk")?;
    disk.truncate(size);
    Ok(Found { ids, disk })
}
