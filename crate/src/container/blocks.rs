//! Finds the blocks of a compressed file that decode independently.

use super::block_source::{BlockSource, PackedFile, Unit};
use super::part::{PartDecoder, PartFacts};
use super::{Compression, Container};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use decant_module::{BeginSearch, Block, BlockFile, LARGEST_PART, SearchStep};
use futures_util::pin_mut;
use futures_util::stream::{StreamExt, iter};
use std::rc::Rc;

/// How the blocks of a kind of compressed files are found.
pub(crate) struct BlocksOf {
    pub(crate) search: BeginSearch,
    /// The largest file that is decoded as a whole if its blocks are not found, in bytes.
    pub(crate) largest_whole: u64,
    /// Whether the last four bytes of most files are the size of the content, modulo 2^32, little endian.
    pub(crate) has_size_at_end: bool,
}

/// Reads blocks for the caller that opens an image.
#[derive(Clone)]
pub struct InPlace {
    /// Decodes blocks.
    pub decoder: Rc<dyn PartDecoder>,
    /// Called with the finished share while blocks are decoded to know their sizes.
    pub measured: Rc<dyn Fn(f64)>,
}

/// The content of a compressed file.
pub(crate) enum BlocksFound {
    Blocks(Rc<BlockSource>),
    /// The content can only be read in order. Has its size in bytes, if the file states it.
    InOrder(Option<u64>),
}

/// Limits on the blocks that are decoded to know their sizes: their number, and their bytes in the file.
const MOST_MEASURED: usize = 4096;
const LARGEST_MEASURED: u64 = 256 << 20;
/// The number of blocks that are decoded at once to know their sizes.
const MEASURED_AT_ONCE: usize = 2;

/// Finds the blocks of `file`, a compressed one. Content of at most [`LARGEST_PART`] bytes in a local file is one block. Fails as
/// reading does, and with `corrupt` if a file that is decoded as one block is damaged or truncated.
pub(crate) async fn find(container: &'static Container, source: Rc<dyn Source>, by: &InPlace) -> Result<BlocksFound> {
    let Some(Compression { blocks: of, .. }) = container.compression().filter(|_| !source.profile().made_here) else {
        return Ok(BlocksFound::InOrder(None));
    };
    let file = PackedFile { source, container, decoder: by.decoder.clone() };
    let found = searched(of, &*file.source, LARGEST_PART).await?;
    let size = found.as_deref().and_then(size_of);
    if let Some(blocks) = found
        && let Some((units, trailer)) = measured(&file, blocks, &*by.measured).await?
    {
        return Ok(BlocksFound::Blocks(BlockSource::new(file, units, trailer, None)));
    }
    let expected = match size {
        None if of.has_size_at_end => size_at_end(&*file.source).await?,
        size => size.unwrap_or(0),
    };
    let is_small = file.source.profile().opened_by_workers && file.source.size() <= of.largest_whole;
    if !is_small || expected > LARGEST_PART {
        return Ok(BlocksFound::InOrder(size));
    }
    let block = Block { len: file.source.size(), ..Block::default() };
    let part = file.read(&block, expected).await?;
    match file.decode(part).await {
        Ok(first) => {
            let PartFacts { size, trailer } = first.facts;
            let unit = Unit { block, offset: 0, size };
            Ok(BlocksFound::Blocks(BlockSource::new(file, vec![unit], trailer, Some(first))))
        }
        Err(error) if error.kind == ErrorKind::Corrupt => Err(error),
        Err(_) => Ok(BlocksFound::InOrder(size)),
    }
}

/// Returns the size of the content of `source` in bytes, without decoding it; `None` if the file does not state all of it. The content
/// may have another size if the file is damaged. Fails as reading does.
pub(crate) async fn stated_size(container: &Container, source: &dyn Source) -> Result<Option<u64>> {
    let Some(compression) = container.compression() else { return Ok(None) };
    Ok(searched(&compression.blocks, source, u64::MAX).await?.as_deref().and_then(size_of))
}

/// The size of the data of all `blocks`, if it is stated.
fn size_of(blocks: &[Block]) -> Option<u64> {
    blocks.iter().try_fold(0u64, |sum, block| sum.checked_add(block.size?))
}

/// The size of the data of the last gzip member, modulo 2^32: in most files the only one (RFC 1952, section 2.3.1).
async fn size_at_end(source: &dyn Source) -> Result<u64> {
    let len = source.size().min(4);
    let range = ByteRange { start: HostOffset(source.size() - len), len };
    let bytes = read_exact(source, range, "end of the compressed file").await?;
    Ok(bytes.iter().rev().fold(0, |size, &byte| size << 8 | u64::from(byte)))
}

/// Searches `source` for blocks with data of up to `largest` bytes. Fails as reading does.
async fn searched(of: &BlocksOf, source: &dyn Source, largest: u64) -> Result<Option<Vec<Block>>> {
    let file = BlockFile { size: source.size(), is_local: source.profile().opened_by_workers, largest };
    let Some(mut search) = (of.search)(file) else { return Ok(None) };
    let (mut bytes, mut found) = (Vec::new(), Vec::new());
    loop {
        match search.next(&bytes) {
            SearchStep::Read(start, len) => {
                let range = ByteRange { start: HostOffset(start), len };
                bytes = read_exact(source, range, "compressed file").await?;
            }
            SearchStep::Found(mut blocks) => {
                found.try_reserve(blocks.len()).map_err(|_| Error::out_of_memory(blocks.len()))?;
                found.append(&mut blocks);
            }
            SearchStep::End(is_found) => return Ok(is_found.then_some(found)),
        }
    }
}

/// Returns `blocks` with their sizes, and the length of the trailer after them. `None` if [`sizes_of`] does not find the sizes, or if a
/// block is too large. Also `None` if a block states that it is empty: no read would decode it, and data in it would not be noticed.
async fn measured(file: &PackedFile, blocks: Vec<Block>, measured: &dyn Fn(f64)) -> Result<Option<(Vec<Unit>, u64)>> {
    let Some((sizes, trailer)) = sizes_of(file, &blocks, measured).await? else { return Ok(None) };
    let mut offset = 0;
    let mut units = Vec::new();
    for (block, size) in blocks.into_iter().zip(sizes) {
        let is_alone = block.around.iter().any(|bytes| !bytes.is_empty());
        if size > LARGEST_PART || (size == 0 && is_alone) {
            return Ok(None);
        }
        units.push(Unit { block, offset, size });
        offset += size;
    }
    // If all blocks claim to be empty, nothing decodes them, and data in them would not be noticed.
    Ok((offset > 0).then_some((units, trailer)))
}

/// Returns the sizes of `blocks`, and the length of the trailer. Decodes the blocks of unknown size once. `None` if there is only one such
/// block, if they are too large, or if decoding fails. Fails as reading does.
async fn sizes_of(file: &PackedFile, blocks: &[Block], measured: &dyn Fn(f64)) -> Result<Option<(Vec<u64>, u64)>> {
    let mut sizes: Vec<_> = blocks.iter().map(|block| block.size).collect();
    let unknown: Vec<_> = (0..blocks.len()).filter(|&at| sizes[at].is_none()).collect();
    let total: u64 = unknown.iter().map(|&at| blocks[at].len).sum();
    let is_small = unknown.len() <= MOST_MEASURED
        && total <= LARGEST_MEASURED
        && unknown.iter().all(|&at| blocks[at].len <= LARGEST_PART);
    if unknown.len() == 1 || !is_small {
        return Ok(None);
    }
    let measure = async |at: usize| {
        let part = file.read(&blocks[at], 0).await?;
        // If the file is damaged, unpacking it reports where.
        let decoded = file.decode(part).await.ok();
        Ok::<_, Error>((at, decoded.map(|decoded| decoded.facts)))
    };
    let measuring = iter(unknown).map(measure).buffer_unordered(MEASURED_AT_ONCE);
    pin_mut!(measuring);
    let (mut done, mut trailer) = (0, 0);
    while let Some(found) = measuring.next().await {
        let (at, facts) = found?;
        let Some(facts) = facts else { return Ok(None) };
        sizes[at] = Some(facts.size);
        // Only the last block may have one.
        trailer += facts.trailer;
        done += blocks[at].len;
        measured(done as f64 / total as f64);
    }
    let sizes: Option<_> = sizes.into_iter().collect();
    Ok(sizes.map(|sizes| (sizes, trailer)))
}

#[cfg(test)]
mod tests {
    use super::super::block_source::{FREE_BLOCKS, MOST_PASSES};
    use super::*;
    use crate::compress::crc;
    use crate::container::{CONTAINERS, Container};
    use crate::io::source::{Profile, zeroed};
    use crate::io::stream::FileStream;
    use crate::native::InlineParts;
    use decant_module::SMALL_BLOCK;
    use futures_executor::block_on;
    use futures_util::FutureExt;
    use futures_util::future::LocalBoxFuture;
    use miniz_oxide::deflate::compress_to_vec;
    use std::cell::RefCell;
    use std::future::ready;

    /// A file in memory, which may be on a server.
    struct Bytes {
        bytes: Vec<u8>,
        is_local: bool,
    }

    impl Source for Bytes {
        fn size(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn profile(&self) -> Profile {
            Profile { opened_by_workers: self.is_local, ..Profile::default() }
        }

        fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
            buf.copy_from_slice(&self.bytes[offset.0 as usize..][..buf.len()]);
            ready(Ok(())).boxed_local()
        }
    }

    fn container_of(file: &[u8]) -> &'static Container {
        let name = if file[0] == 0x1f { "gzip" } else { "zstd" };
        CONTAINERS.iter().find(|container| container.name == name).unwrap()
    }

    /// A frame of zstd with one block of a repeated byte, which states its size if `is_stated`.
    fn frame(size: u32, is_stated: bool) -> Vec<u8> {
        let blocks: Vec<_> = (0..=(size - 1) >> 17).map(|at| (size - (at << 17)).min(1 << 17)).collect();
        let head = if is_stated { [&[0xa0][..], &size.to_le_bytes()].concat() } else { vec![0, 0x50] };
        let mut frame = [&0xfd2f_b528u32.to_le_bytes()[..], &head].concat();
        for (at, size) in blocks.iter().enumerate() {
            let header = size << 3 | 2 | u32::from(at == blocks.len() - 1);
            frame.extend([&header.to_le_bytes()[..3], &[7]].concat());
        }
        frame
    }

    /// A member of gzip with `data`, stored or deflated, and `extra` after its header.
    fn member(data: &[u8], level: u8, extra: &[u8]) -> Vec<u8> {
        let flags = if extra.is_empty() { 0 } else { 4 };
        let header = [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255];
        let trailer = [crc::crc32(data).to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        [&header[..], extra, &compress_to_vec(data, level), &trailer].concat()
    }

    /// A block of BGZF.
    fn bgzf(data: &[u8]) -> Vec<u8> {
        let len = member(data, 6, &[0; 8]).len() as u16;
        member(data, 6, &[&[6, 0, b'B', b'C', 2, 0][..], &(len - 1).to_le_bytes()].concat())
    }

    /// Noise, which does not get smaller.
    fn noise() -> Vec<u8> {
        (1..=300_000u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
    }

    fn found(file: &[u8], is_local: bool, shares: &Rc<RefCell<Vec<f64>>>) -> Result<BlocksFound> {
        let list = shares.clone();
        let by =
            InPlace { decoder: Rc::new(InlineParts), measured: Rc::new(move |share| list.borrow_mut().push(share)) };
        block_on(find(container_of(file), Rc::new(Bytes { bytes: file.to_vec(), is_local }), &by))
    }

    type Places = Vec<(u64, u64, u64, u64)>;

    #[test]
    fn blocks_of_unknown_size_are_decoded_once() {
        let stored = member(&noise(), 0, &[]);
        let len = stored.len() as u64;
        // A member whose stored data looks like members itself.
        let around = member(&stored.repeat(3), 0, &[]);
        let mut damaged = stored.repeat(3);
        let checksum = 2 * len as usize - 8;
        damaged[checksum] ^= 1;
        let cases: [(&str, Vec<u8>, Option<Places>); 5] = [
            (
                "members",
                stored.repeat(3),
                Some(vec![(0, len, 0, 300_000), (len, len, 300_000, 300_000), (2 * len, len, 600_000, 300_000)]),
            ),
            ("members in a stored one", around.clone(), Some(vec![(0, around.len() as u64, 0, 3 * len)])),
            ("damaged members", damaged, None),
            (
                "frames",
                [frame(2_000_000, false), frame(9, false)].concat(),
                Some(vec![(0, 70, 0, 2_000_000), (70, 10, 2_000_000, 9)]),
            ),
            ("frames that are too large", [frame(LARGEST_PART as u32 + 1, false), frame(9, false)].concat(), None),
        ];
        for (what, file, expected) in cases {
            let shares = Rc::default();
            let places = match found(&file, true, &shares) {
                Ok(BlocksFound::Blocks(content)) => {
                    let place = |unit: &Unit| (unit.block.start, unit.block.len, unit.offset, unit.size);
                    Some(content.units.iter().map(place).collect())
                }
                _ => None,
            };
            assert_eq!(places, expected, "{what}");
            // A single block is decoded as the whole file.
            if let Some(places) = places.filter(|places| places.len() > 1) {
                let shares = shares.borrow();
                assert_eq!((shares.len(), shares.last()), (places.len(), Some(&1.0)), "{what}");
            }
            let on_server = found(&file, false, &Rc::default());
            assert!(matches!(on_server, Ok(BlocksFound::InOrder(None))), "{what}, on a server");
        }
    }

    #[test]
    fn the_size_is_that_which_the_file_states() {
        let (large, parts) = (frame((2 << 20) - 1, true), frame((2 << 20) - 1, true).repeat(40));
        let xz = include_bytes!("../../xz/src/direct/streams.xz");
        let size = 40 * ((2 << 20) - 1);
        for (what, name, file, expected, on_server) in [
            ("xz", "xz", &xz[..], Some(12_000), Some(12_000)),
            ("xz, cut", "xz", &xz[..xz.len() - 12], None, None),
            ("one frame of zstd", "zstd", &frame(9, true), Some(9), None),
            ("frames of zstd", "zstd", &parts, Some(size), None),
            ("a large frame of zstd", "zstd", &frame(100 << 20, true), Some(100 << 20), None),
            ("a frame of zstd without its size", "zstd", &[large, frame(9, false)].concat(), None, None),
            ("frames of zstd, cut", "zstd", &parts[..parts.len() - 1], None, None),
            ("BGZF", "gzip", &[bgzf(&[0; 60_000]), bgzf(&[0; 7]), bgzf(&[])].concat(), Some(60_007), None),
            ("gzip, whose size is modulo 2^32", "gzip", &member(b"abc", 6, &[]), None, None),
            ("bzip2", "bzip2", b"BZh91AY&SY", None, None),
            ("no container with one file", "tar", &[0; 512], None, None),
            ("a short file", "zstd", &[0x28], None, None),
        ] {
            let container = CONTAINERS.iter().find(|container| container.name == name).unwrap();
            for (is_local, expected) in [(true, expected), (false, on_server)] {
                let source = Bytes { bytes: file.to_vec(), is_local };
                assert_eq!(block_on(stated_size(container, &source)), Ok(expected), "{what}, {is_local}");
            }
        }
    }

    /// The content of `file` as reads at any position find it.
    fn content_of(file: &[u8]) -> Result<Option<Vec<u8>>> {
        match found(file, true, &Rc::default())? {
            BlocksFound::InOrder(_) => Ok(None),
            BlocksFound::Blocks(content) => {
                let mut bytes = zeroed(content.size() as usize)?;
                block_on(content.read_at(HostOffset(0), &mut bytes))?;
                Ok(Some(bytes))
            }
        }
    }

    /// The content of `file` in order.
    fn in_order(file: &[u8]) -> Result<Vec<u8>> {
        let stream = FileStream::new(Rc::new(Bytes { bytes: file.to_vec(), is_local: true }));
        let mut content = (container_of(file).compression().unwrap().decode)(Box::new(stream))?;
        let mut bytes = zeroed(4 << 20)?;
        let len = block_on(content.read(&mut bytes))?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// A file that is cut or changed gives its own bytes, or an error that is clear.
    #[test]
    fn content_is_never_wrong() {
        let skippable = |content: &[u8]| {
            [&0x184d_2a50u32.to_le_bytes(), &(content.len() as u32).to_le_bytes()[..], content].concat()
        };
        let sized = [frame(1_100_000, true), frame(9, true)].concat();
        let lens = [sized.len() as u32 - 13, 13];
        let table = [
            &0x184d_2a5eu32.to_le_bytes()[..],
            &25u32.to_le_bytes(),
            &lens[0].to_le_bytes(),
            &1_100_000u32.to_le_bytes(),
            &lens[1].to_le_bytes(),
            &9u32.to_le_bytes(),
            &[2, 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f],
        ];
        for file in [
            sized.clone(),
            [frame(1_100_000, false), frame(9, false)].concat(),
            [&sized[..], &skippable(&[1, 2, 3])].concat(),
            [&sized[..], &table.concat()].concat(),
            [bgzf(&[b'a'; 300]), bgzf(&[b'b'; 20]), bgzf(&[])].concat(),
            [member(b"abc", 6, &[]), member(&[b'd'; 50], 6, &[]), member(&[], 6, &[])].concat(),
        ] {
            assert_eq!(content_of(&file).unwrap(), Some(in_order(&file).unwrap()));
            let check = |what: String, file: &[u8]| match content_of(file) {
                Ok(Some(content)) => assert!(in_order(file).is_ok_and(|bytes| bytes == content), "{what}"),
                Ok(None) => {}
                Err(error) => {
                    let clear = [ErrorKind::Corrupt, ErrorKind::Limit, ErrorKind::Unsupported];
                    assert!(clear.contains(&error.kind), "{what}: {error}");
                }
            };
            // The first bytes make it the container.
            for at in 8..file.len() {
                check(format!("cut at {at}"), &file[..at]);
                for change in [1, 0x90] {
                    let mut changed = file.clone();
                    changed[at] ^= change;
                    check(format!("{change} at {at}"), &changed);
                }
            }
        }
    }

    /// Zeros and a trailer may follow the last part of a file only, however it is read.
    #[test]
    fn bytes_between_and_after_parts() {
        let stored = member(&noise(), 0, &[]);
        // A block of BGZF that is longer than its member, and ends with the size of its data.
        let data = &noise()[..60_000];
        let long_block = |between: &[u8]| {
            let len = (bgzf(data).len() + between.len() + 4) as u16;
            let extra = [&[6, 0, b'B', b'C', 2, 0][..], &(len - 1).to_le_bytes()].concat();
            [&member(data, 6, &extra)[..], between, &60_000u32.to_le_bytes()].concat()
        };
        // With one more they are decoded together.
        let blocks = bgzf(data).repeat((SMALL_BLOCK / 60_000) as usize);
        let frames = [frame(1_100_000, true), frame(1_100_000, true)];
        let trailer = &b"a trailer"[..];
        let like_a_member = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..];
        for (what, file, is_read) in [
            ("nothing between members", stored.repeat(2), true),
            ("zeros between members", [&stored[..], &[0; 512], &stored].concat(), false),
            ("one zero between members", [&stored[..], &[0], &stored].concat(), false),
            ("text between members", [&stored[..], trailer, &stored].concat(), false),
            ("zeros and text between members", [&stored[..], &[0; 9], trailer, &stored].concat(), false),
            ("zeros after the last member", [&stored.repeat(2)[..], &[0; 512]].concat(), true),
            ("a trailer after the last member", [&stored.repeat(2)[..], trailer].concat(), true),
            ("zeros and a trailer", [&stored.repeat(2)[..], &[0; 300_000], trailer].concat(), true),
            ("a long trailer", [&stored.repeat(2)[..], &[b'a'; 300_000]].concat(), false),
            ("a trailer like a member", [&stored.repeat(2)[..], trailer, like_a_member, trailer].concat(), false),
            ("a long trailer like a member", [&stored.repeat(2)[..], like_a_member, &[7; 300_000]].concat(), false),
            ("blocks of BGZF", blocks.clone(), true),
            ("zeros in a block of BGZF", [&blocks[..], &long_block(&[0; 9]), &blocks].concat(), false),
            ("a size in a block of BGZF", [&blocks[..], &long_block(&[]), &blocks].concat(), false),
            ("a trailer in the last block of BGZF", [&blocks[..], &long_block(trailer)].concat(), true),
            ("frames of zstd", frames.concat(), true),
            ("zeros between frames", [&frames[0][..], &[0; 512], &frames[1]].concat(), false),
            ("zeros after frames", [&frames.concat()[..], &[0; 512]].concat(), false),
        ] {
            let ordered = in_order(&file);
            assert_eq!(ordered.is_ok(), is_read, "{what}, in order");
            // A file may have no parts that are known, and so be read in order only.
            match (ordered, content_of(&file)) {
                (Ok(ordered), Ok(Some(content))) => assert!(content == ordered, "{what}"),
                (Err(_), Ok(None)) => {}
                (Err(ordered), Err(placed)) => assert_eq!(ordered.kind, placed.kind, "{what}"),
                (_, placed) => panic!("{what}, in place: {:?}", placed.map(|content| content.map(|bytes| bytes.len()))),
            }
        }
    }

    #[test]
    fn a_conversion_that_decodes_again_and_again_is_refused() {
        // The cache has no room for two of these blocks.
        let file = [frame(50 << 20, true), frame(50 << 20, true)].concat();
        let Ok(BlocksFound::Blocks(content)) = found(&file, true, &Rc::default()) else { panic!("it has blocks") };
        let read = |at: u64| block_on(content.read_at(HostOffset(at % 2 * (50 << 20)), &mut [0]));
        let limited = content.limited();
        let most = MOST_PASSES * 2 + FREE_BLOCKS;
        assert!((0..most).all(|at| read(at).is_ok()));
        let refusal = read(most).unwrap_err();
        assert_eq!((refusal.kind, &*refusal.code), (ErrorKind::Unsupported, "needs-spool"));
        drop(limited);
        assert!(read(most).is_ok());
    }
}
