//! Blocks of a compressed file: parts that decode independently. Finds them by reading little of the file.

use crate::LARGEST_PART;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A block, or several that follow one another in the file. Numbers are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Where it begins in the file.
    pub start: u64,
    /// Its length in the file.
    pub len: u64,
    /// The size of its data, if the file states it.
    pub size: Option<u64>,
    /// The bytes to put before and after those of the file to make a complete file of the block.
    pub around: [Vec<u8>; 2],
}

/// A compressed file whose blocks are to be found.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BlockFile {
    /// Its size in bytes.
    pub size: u64,
    /// Whether all of it may be read: on a server, this would download it.
    pub is_local: bool,
    /// The most data of a block, in bytes, that the caller can use. The search may fail at a larger one.
    pub largest: u64,
}

/// A step of a search for blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchStep {
    /// The next step needs the bytes from this offset, so many: never past the end of the file.
    Read(u64, u64),
    /// The next blocks. They follow one another from the start of the file to its end, except for bytes without data.
    Found(Vec<Block>),
    /// The end. `false` if blocks could not be found: the file has none, or is damaged.
    End(bool),
}

/// A search for blocks.
pub trait BlockSearch {
    /// Takes the `bytes` that the last step needed, or none. Must not be called after the end.
    fn next(&mut self, bytes: &[u8]) -> SearchStep;
}

/// Returns the blocks that `search` finds in a file with the content `bytes`.
pub fn blocks_in(mut search: Box<dyn BlockSearch>, bytes: &[u8]) -> Option<Vec<Block>> {
    let (mut wanted, mut found) = (0..0, Vec::new());
    loop {
        match search.next(&bytes[wanted]) {
            SearchStep::Read(start, len) => wanted = start as usize..(start + len) as usize,
            SearchStep::Found(blocks) => {
                found.extend(blocks);
                wanted = 0..0;
            }
            SearchStep::End(is_found) => return is_found.then_some(found),
        }
    }
}

/// Begins to search a file; `None` if memory runs out, or files of its kind are not searched.
pub type BeginSearch = fn(BlockFile) -> Option<Box<dyn BlockSearch>>;

/// The most blocks of one step.
const FOUND_AT_ONCE: usize = 256;
/// The most blocks of a file: a list takes memory.
const MOST_BLOCKS: usize = 1 << 18;
/// Blocks with less data, in bytes, are joined with the next one.
pub const SMALL_BLOCK: u64 = 1 << 20;
/// How much of a file is read at once to find its blocks, in bytes.
const WINDOW: u64 = 1 << 20;

/// The size of a piece of an index, in bytes, from which on the next entry begins another.
const INDEX_PIECE: usize = 64 << 10;

/// The sizes of blocks that are being written, in order, for an index of them. Equal ones that follow one another take memory once.
#[derive(Default)]
pub struct BlockSizes(Vec<BlockSize>);

struct BlockSize {
    /// Of the block in the file, and of its data.
    len: u32,
    data: u32,
    times: u32,
}

impl BlockSizes {
    /// Adds `times` blocks of `len` bytes with `data` bytes of data each. Returns whether there was memory for them.
    pub fn add(&mut self, len: u32, data: u32, times: u32) -> bool {
        match self.0.last_mut() {
            Some(last) if (last.len, last.data) == (len, data) => {
                last.times += times;
                true
            }
            _ => {
                let has_room = self.0.try_reserve(1).is_ok();
                if has_room {
                    self.0.push(BlockSize { len, data, times });
                }
                has_room
            }
        }
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|size| u64::from(size.times)).sum()
    }

    /// Returns the entries of the index, each as `put` appends the two sizes, as pieces that are each repeated a number of times.
    pub fn entries(self, put: impl Fn(u32, u32, &mut Vec<u8>)) -> Vec<(Vec<u8>, u64)> {
        let mut pieces: Vec<(Vec<u8>, u64)> = Vec::new();
        for BlockSize { len, data, times } in self.0 {
            match pieces.last_mut() {
                Some((piece, 1)) if times == 1 && piece.len() < INDEX_PIECE => put(len, data, piece),
                _ => {
                    let mut piece = Vec::new();
                    put(len, data, &mut piece);
                    pieces.push((piece, times.into()));
                }
            }
        }
        pieces
    }
}

/// Collects blocks that follow one another in the file and need no bytes around them. Joins small ones, and those without data, with
/// the ones before.
#[derive(Default)]
pub struct JoinedBlocks(Vec<Block>);

impl JoinedBlocks {
    /// Adds the next block. Returns `None` if there are too many.
    pub fn add(&mut self, block: Block) -> Option<()> {
        if let Some(last) = self.0.last_mut()
            && are_joined(last.size, block.size)
        {
            last.len += block.len;
            last.size = last.size.zip(block.size).map(|(before, size)| before.saturating_add(size));
            return Some(());
        }
        let has_room = self.0.len() < MOST_BLOCKS && self.0.try_reserve(1).is_ok();
        has_room.then(|| self.0.push(block))
    }

    /// All blocks.
    pub fn all(self) -> Vec<Block> {
        self.0
    }
}

/// Whether a block with data of `size` is joined with one of `before`.
fn are_joined(before: Option<u64>, size: Option<u64>) -> bool {
    match (before, size) {
        (Some(0), _) | (_, Some(0)) => true,
        (Some(before), Some(size)) => before < SMALL_BLOCK && before.saturating_add(size) <= LARGEST_PART,
        _ => false,
    }
}

/// The exchange between a search and its caller.
#[derive(Default)]
struct Exchange {
    /// The offset and length of the bytes that the search needs.
    needed: Option<(u64, u64)>,
    /// These bytes, from the caller.
    bytes: Option<Vec<u8>>,
}

/// The file of a [`Search`], which its caller reads.
pub struct SearchedFile {
    file: BlockFile,
    exchange: Rc<RefCell<Exchange>>,
    /// The bytes of the last read, and their offset in the file.
    window: Vec<u8>,
    start: u64,
}

impl SearchedFile {
    /// The file as the caller describes it.
    pub fn file(&self) -> BlockFile {
        self.file
    }

    /// Returns `len` bytes at `offset`, which must be within the file.
    pub async fn read(&mut self, offset: u64, len: u64) -> &[u8] {
        if len == 0 {
            return &[];
        }
        self.exchange.borrow_mut().needed = Some((offset, len));
        self.window = poll_fn(|_| self.exchange.borrow_mut().bytes.take().map_or(Poll::Pending, Poll::Ready)).await;
        self.start = offset;
        &self.window
    }

    /// Returns `len` bytes at `offset`: fewer at the end of the file, and none after it. Reads much at once, for calls in ascending
    /// order.
    pub async fn ahead(&mut self, offset: u64, len: u64) -> &[u8] {
        // A length in a truncated or damaged file may lead anywhere.
        let end = offset.saturating_add(len).min(self.file.size);
        if end <= offset {
            return &[];
        }
        let is_there = offset >= self.start && end <= self.start + self.window.len() as u64;
        if !is_there {
            self.read(offset, WINDOW.max(len).min(self.file.size - offset)).await;
        }
        let from = (offset - self.start) as usize;
        &self.window[from..from + (end - offset) as usize]
    }
}

/// The blocks of a file; none if it has none, or is damaged.
type Searching = Pin<Box<dyn Future<Output = Option<Vec<Block>>>>>;

/// A search by a function that awaits reads of the file.
pub struct Search {
    exchange: Rc<RefCell<Exchange>>,
    searching: Option<Searching>,
    /// The blocks that are left to return.
    found: Vec<Block>,
    is_found: bool,
}

impl Search {
    /// Searches `file` by `search`, which must await nothing but reads.
    pub fn new<S>(file: BlockFile, search: impl FnOnce(SearchedFile) -> S) -> Self
    where
        S: Future<Output = Option<Vec<Block>>> + 'static,
    {
        let exchange = Rc::<RefCell<Exchange>>::default();
        let file = SearchedFile { file, exchange: exchange.clone(), window: Vec::new(), start: 0 };
        Self { exchange, searching: Some(Box::pin(search(file))), found: Vec::new(), is_found: false }
    }
}

impl BlockSearch for Search {
    fn next(&mut self, bytes: &[u8]) -> SearchStep {
        if let Some(searching) = &mut self.searching {
            if self.exchange.borrow().needed.is_some() {
                self.exchange.borrow_mut().bytes = Some(bytes.to_vec());
            }
            let Poll::Ready(found) = searching.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
                let (start, len) = self.exchange.borrow().needed.expect("a search awaits only reads");
                return SearchStep::Read(start, len);
            };
            self.searching = None;
            self.is_found = found.is_some();
            self.found = found.unwrap_or_default();
        }
        if self.found.is_empty() {
            return SearchStep::End(self.is_found);
        }
        let rest = self.found.split_off(self.found.len().min(FOUND_AT_ONCE));
        SearchStep::Found(std::mem::replace(&mut self.found, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_are_joined() {
        let of = |sizes: &[Option<u64>]| {
            let mut blocks = JoinedBlocks::default();
            for (at, &size) in sizes.iter().enumerate() {
                blocks.add(Block { start: 10 * at as u64, len: 10, size, ..Block::default() }).unwrap();
            }
            blocks.all().into_iter().map(|block| (block.start, block.len, block.size)).collect::<Vec<_>>()
        };
        let large = Some(SMALL_BLOCK);
        for (sizes, expected) in [
            (&[Some(1), Some(2), large][..], vec![(0, 30, Some(SMALL_BLOCK + 3))]),
            (&[large, Some(1)], vec![(0, 10, large), (10, 10, Some(1))]),
            (&[Some(0), None, Some(0), large], vec![(0, 30, None), (30, 10, large)]),
            (&[Some(1), Some(LARGEST_PART)], vec![(0, 10, Some(1)), (10, 10, Some(LARGEST_PART))]),
            (&[None, None], vec![(0, 10, None), (10, 10, None)]),
        ] {
            assert_eq!(of(sizes), expected);
        }
    }

    #[test]
    fn a_search_reads_and_returns_all_blocks() {
        let file = BlockFile { size: 3 * WINDOW, is_local: true, largest: 9 };
        let mut search = Search::new(file, |mut file| async move {
            let mut found = Vec::new();
            for at in 0..file.file().size / 4096 {
                let len = u64::from(file.ahead(at * 4096, 4096).await[0]);
                found.push(Block { start: at * 4096, len, ..Block::default() });
            }
            Some(found)
        });
        let (mut bytes, mut reads, mut found) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            match search.next(&bytes) {
                SearchStep::Read(start, len) => {
                    reads.push((start, len));
                    bytes = (start..start + len).map(|at| (at / 4096) as u8).collect();
                }
                SearchStep::Found(blocks) => {
                    assert!(blocks.len() <= FOUND_AT_ONCE);
                    found.extend(blocks);
                }
                SearchStep::End(is_found) => break assert!(is_found),
            }
        }
        assert_eq!(reads, [(0, WINDOW), (WINDOW, WINDOW), (2 * WINDOW, WINDOW)]);
        assert!(
            found.iter().enumerate().all(|(at, block)| (block.start, block.len) == (at as u64 * 4096, at as u64 & 255))
        );
    }

    #[test]
    fn an_index_has_each_block_once() {
        let blocks = [(5, 10, 1), (5, 10, 2), (6, 10, 1), (7, 3, 1), (6, 10, 4), (1, 2, 1)];
        let mut sizes = BlockSizes::default();
        assert!(blocks.iter().all(|&(len, data, times)| sizes.add(len, data, times)));
        assert_eq!(sizes.count(), 10);
        let pieces = sizes.entries(|len, data, bytes| bytes.extend([len as u8, data as u8]));
        assert_eq!(pieces, [(vec![5, 10], 3), (vec![6, 10, 7, 3], 1), (vec![6, 10], 4), (vec![1, 2], 1)]);
    }
}
