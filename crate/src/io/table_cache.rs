//! Caches recently read headers and tables of an image's files, so that repeated passes and partial reads of the disk
//! do not fetch them again.

use super::source::{Reader, Source, Wrapper, copied};
use crate::error::Result;
use crate::offsets::{ByteRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

/// Upper bound on cached bytes. qcow2 tables with 64 KiB clusters take 1/8,192 of the disk size.
const CAPACITY: usize = 16 << 20;
/// Read one byte after this many cached bytes: only a real read yields to other tasks, such as a cancel.
const MOST_AT_ONCE: u64 = 2 << 20;
/// Approximate memory used by a range in addition to its bytes.
const OVERHEAD: usize = 96;

/// Cached ranges of all files of an image.
#[derive(Default)]
pub(crate) struct TableCache {
    /// Ascending by file and offset. Concurrent reads may leave overlapping ranges.
    ranges: RefCell<Vec<CachedRange>>,
    bytes: Cell<usize>,
    /// The files. Kept, so that no other file gets the address of one.
    files: RefCell<Vec<Rc<dyn Source>>>,
    clock: Cell<u64>,
    /// Bytes requested since the last real read.
    since_read: Cell<u64>,
}

struct CachedRange {
    file: usize,
    offset: u64,
    bytes: Vec<u8>,
    /// Clock value of its last use.
    used: u64,
}

impl CachedRange {
    fn place(&self) -> (usize, u64) {
        (self.file, self.offset)
    }

    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// The memory that it takes, in bytes.
    fn held(&self) -> usize {
        self.bytes.len() + OVERHEAD
    }
}

impl TableCache {
    /// Wraps `source` so that its reads go through this cache, with those of earlier wrappers of the same `source`. For
    /// headers and tables only.
    pub(crate) fn over(self: &Rc<Self>, source: Rc<dyn Source>) -> Rc<dyn Source> {
        let file = address(&source);
        let mut files = self.files.borrow_mut();
        if !files.iter().any(|known| address(known) == file) {
            files.push(source.clone());
        }
        Rc::new(Cached { cache: self.clone(), file, source })
    }

    /// From now on, the cached bytes of `parts` are those of `whole`, in which they follow each other.
    pub(crate) fn join(&self, parts: &[Rc<dyn Source>], whole: &Rc<dyn Source>) {
        let mut ranges = self.ranges.borrow_mut();
        let mut start = 0;
        for part in parts {
            for range in ranges.iter_mut().filter(|range| range.file == address(part)) {
                (range.file, range.offset) = (address(whole), start + range.offset);
            }
            start += part.size();
        }
        ranges.sort_unstable_by_key(CachedRange::place);
        self.files.borrow_mut().push(whole.clone());
    }

    /// Passes the cached parts of the `len` bytes at `offset` of `file` to `take`, each with its position in that
    /// range. Returns the parts that are not cached.
    fn look_up(&self, file: usize, offset: u64, len: usize, mut take: impl FnMut(usize, &[u8])) -> Vec<Range<usize>> {
        let mut ranges = self.ranges.borrow_mut();
        let now = self.clock.replace(self.clock.get() + 1);
        let (mut at, end) = (offset, offset + len as u64);
        let mut missing = Vec::new();
        let after = ranges.partition_point(|range| range.place() <= (file, at));
        for range in &mut ranges[after.saturating_sub(1)..] {
            if range.place() >= (file, end) {
                break;
            }
            if range.file != file || range.end() <= at {
                continue;
            }
            let start = range.offset;
            if start > at {
                missing.push((at - offset) as usize..(start - offset) as usize);
                at = start;
            }
            let until = range.end().min(end);
            take((at - offset) as usize, &range.bytes[(at - start) as usize..(until - start) as usize]);
            range.used = now;
            at = until;
        }
        if at < end {
            missing.push((at - offset) as usize..len);
        }
        missing
    }

    /// Caches `bytes`, read at `offset` of `file`, unless memory runs out.
    fn keep(&self, file: usize, offset: u64, bytes: &[u8]) {
        let Ok(bytes) = copied(bytes) else { return };
        let range = CachedRange { file, offset, bytes, used: self.clock.get() };
        let mut ranges = self.ranges.borrow_mut();
        let mut held = self.bytes.get() + range.held();
        match ranges.binary_search_by_key(&range.place(), CachedRange::place) {
            Ok(at) => held -= std::mem::replace(&mut ranges[at], range).held(),
            Err(at) => ranges.insert(at, range),
        }
        if held > CAPACITY {
            // Evict half at once, since sorting by age is slow.
            let mut oldest: Vec<_> = ranges.iter().map(|range| (range.used, range.held())).collect();
            oldest.sort_unstable();
            let mut last = None;
            for (used, of_range) in oldest {
                if held <= CAPACITY / 2 {
                    break;
                }
                held -= of_range;
                last = Some(used);
            }
            ranges.retain(|range| Some(range.used) > last);
            held = ranges.iter().map(CachedRange::held).sum();
        }
        self.bytes.set(held);
    }
}

fn address(source: &Rc<dyn Source>) -> usize {
    Rc::as_ptr(source).cast::<()>() as usize
}

struct Cached {
    cache: Rc<TableCache>,
    file: usize,
    source: Rc<dyn Source>,
}

impl Cached {
    async fn read(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let len = buf.len();
        let requested = self.cache.since_read.get() + len as u64;
        self.cache.since_read.set(requested);
        let fill = |at: usize, held: &[u8]| buf[at..at + held.len()].copy_from_slice(held);
        let missing = self.cache.look_up(self.file, offset, len, fill);
        if missing.is_empty() && requested > MOST_AT_ONCE {
            self.cache.since_read.set(0);
            return self.source.read_at(HostOffset(offset), &mut buf[..1]).await;
        }
        for part in missing {
            self.cache.since_read.set(0);
            let start = offset + part.start as u64;
            self.source.read_at(HostOffset(start), &mut buf[part.clone()]).await?;
            self.cache.keep(self.file, start, &buf[part]);
        }
        Ok(())
    }
}

impl Wrapper for Cached {
    fn source(&self) -> &Rc<dyn Source> {
        &self.source
    }

    /// Forwards hints for ranges that are not cached, and every cancel.
    fn expect(&self, reader: Reader, ranges: &[ByteRange]) {
        let missing = |range: &ByteRange| {
            let start = range.start.0;
            let parts = self.cache.look_up(self.file, start, range.len as usize, |_, _| {});
            parts
                .into_iter()
                .map(move |part| ByteRange { start: HostOffset(start + part.start as u64), len: part.len() as u64 })
        };
        let missing: Vec<_> = ranges.iter().flat_map(missing).collect();
        if ranges.is_empty() || !missing.is_empty() {
            self.source.expect(reader, &missing);
        }
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.read(offset.0, buf).boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;

    /// A file with predictable content that records its reads.
    struct RecordedSource {
        seed: u8,
        size: u64,
        reads: RefCell<Vec<(u64, usize)>>,
        expected: RefCell<Vec<(u64, usize)>>,
    }

    impl RecordedSource {
        fn byte(&self, at: u64) -> u8 {
            (at as u8 ^ (at >> 8) as u8 ^ (at >> 16) as u8).wrapping_add(self.seed)
        }
    }

    impl Source for RecordedSource {
        fn size(&self) -> u64 {
            self.size
        }

        fn expect(&self, _: Reader, ranges: &[ByteRange]) {
            self.expected.borrow_mut().extend(ranges.iter().map(|range| (range.start.0, range.len as usize)));
        }

        fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
            self.reads.borrow_mut().push((offset.0, buf.len()));
            for (at, byte) in buf.iter_mut().enumerate() {
                *byte = self.byte(offset.0 + at as u64);
            }
            async { Ok(()) }.boxed_local()
        }
    }

    fn recorded(seed: u8) -> Rc<RecordedSource> {
        Rc::new(RecordedSource { seed, size: 1 << 40, reads: RefCell::default(), expected: RefCell::default() })
    }

    /// Reads `len` bytes at `offset` and checks them. Returns the reads of the file that this took.
    fn read(cached: &Rc<dyn Source>, recorded: &RecordedSource, offset: u64, len: usize) -> Vec<(u64, usize)> {
        let mut buf = vec![0; len];
        block_on(cached.read_at(HostOffset(offset), &mut buf)).unwrap();
        assert!(buf.iter().enumerate().all(|(at, &byte)| byte == recorded.byte(offset + at as u64)), "{offset}, {len}");
        recorded.reads.take()
    }

    #[test]
    fn each_byte_is_read_once() {
        let cache = Rc::new(TableCache::default());
        let (one, other) = (recorded(0), recorded(9));
        let (a, b) = (cache.over(one.clone()), cache.over(other.clone()));
        // (offset, length, expected reads)
        type Reads = &'static [(u64, usize)];
        let steps: &[(u64, usize, Reads)] = &[
            (100, 50, &[(100, 50)]),
            (100, 50, &[]),
            (110, 20, &[]),
            (90, 30, &[(90, 10)]),
            (140, 30, &[(150, 20)]),
            (300, 10, &[(300, 10)]),
            (80, 240, &[(80, 10), (170, 130), (310, 10)]),
            (80, 240, &[]),
            (0, 0, &[]),
        ];
        for (offset, len, reads) in steps {
            assert_eq!(read(&a, &one, *offset, *len), *reads, "{offset}, {len}");
        }
        // Files do not share cached ranges; wrappers of one file do.
        assert_eq!(read(&b, &other, 100, 50), [(100, 50)]);
        assert_eq!(read(&cache.over(one.clone()), &one, 100, 50), []);
        assert_eq!(read(&a, &one, 100, 50), []);
    }

    #[test]
    fn the_cache_is_bounded() {
        const LEN: usize = 64 << 10;
        let cache = Rc::new(TableCache::default());
        let one = recorded(0);
        let source = cache.over(one.clone());
        for number in 0..1000 {
            read(&source, &one, number * LEN as u64, LEN);
            // Recently used ranges are not evicted.
            assert_eq!(read(&source, &one, 0, LEN), [], "{number}");
            assert!(cache.bytes.get() <= CAPACITY);
            let bytes: usize = cache.ranges.borrow().iter().map(CachedRange::held).sum();
            assert_eq!(bytes, cache.bytes.get());
        }
        assert_eq!(read(&source, &one, 5 * LEN as u64, LEN).len(), 1);
        // Reads above the capacity succeed but are not cached.
        read(&source, &one, 1 << 30, 2 * CAPACITY);
        assert!(cache.bytes.get() <= CAPACITY);
    }

    /// Repeated cache hits still cause an occasional real read, which yields.
    #[test]
    fn others_get_to_run() {
        const LEN: usize = 64 << 10;
        let cache = Rc::new(TableCache::default());
        let one = recorded(0);
        let source = cache.over(one.clone());
        let mut reads: Vec<_> = (0..100).flat_map(|_| read(&source, &one, 0, LEN)).collect();
        assert_eq!(reads.remove(0), (0, LEN));
        assert_eq!(reads, [(0, 1); 99 / 33]);
    }

    /// Hints match the reads, regardless of how much came from the cache before.
    #[test]
    fn hints_match_the_reads() {
        const LEN: usize = 64 << 10;
        let cache = Rc::new(TableCache::default());
        let one = recorded(0);
        let source = cache.over(one.clone());
        for round in 0..100 {
            let start = round * LEN as u64 / 2;
            source.expect(Reader(1), &[ByteRange { start: HostOffset(start), len: LEN as u64 }]);
            let reads = read(&source, &one, start, LEN);
            assert_eq!(reads, one.expected.take(), "{round}");
            // Enough cache hits to cause a read that yields.
            (0..round).for_each(|_| drop(read(&source, &one, start, LEN)));
        }
    }
}
