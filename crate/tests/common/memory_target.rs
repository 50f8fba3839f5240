//! A target in memory that checks its calls.

use super::*;

/// A target in memory that checks every call. If holes are reported, its bytes are not zero at first.
pub struct MemoryTarget {
    abilities: Abilities,
    pub bytes: RefCell<Vec<u8>>,
    /// Sectors that were written, or reported as a hole.
    covered: RefCell<Vec<bool>>,
    last_end: Cell<u64>,
    pub data_bytes: Cell<u64>,
    /// The reported holes, as offset and length.
    pub holes: RefCell<Vec<(u64, u64)>>,
    pub finished: Cell<bool>,
    pub aborted: Cell<bool>,
    /// For an assembled output, whose writes and holes begin anywhere: the covered ranges in ascending order. No two touch.
    assembled: RefCell<Option<Vec<Range<usize>>>>,
    /// The size was not known.
    grows: Cell<bool>,
}

/// The unit in which a target checks that nothing is written twice.
const SECTOR: usize = 512;

impl MemoryTarget {
    pub fn new(abilities: Abilities) -> Rc<Self> {
        Rc::new(Self {
            abilities,
            bytes: RefCell::default(),
            covered: RefCell::default(),
            last_end: Cell::new(0),
            data_bytes: Cell::new(0),
            holes: RefCell::default(),
            finished: Cell::new(false),
            aborted: Cell::new(false),
            assembled: RefCell::default(),
            grows: Cell::new(false),
        })
    }

    fn cover(&self, start: usize, end: usize) {
        if self.grows.get() && end > self.bytes.borrow().len() {
            self.bytes.borrow_mut().resize(end, self.unwritten());
            self.covered.borrow_mut().resize(end.div_ceil(SECTOR), false);
        }
        assert!(!self.finished.get() && !self.aborted.get());
        let ends_well = end.is_multiple_of(SECTOR) || end == self.bytes.borrow().len();
        assert!(start < end && start.is_multiple_of(SECTOR) && ends_well, "{start}..{end}");
        assert!(!self.abilities.ascending || start as u64 >= self.last_end.get(), "out of order: {start}..{end}");
        for sector in start / SECTOR..end.div_ceil(SECTOR) {
            let before = std::mem::replace(&mut self.covered.borrow_mut()[sector], true);
            assert!(!before, "sector {sector} is written twice");
        }
        self.last_end.set(end as u64);
    }

    /// Takes the output of `layout`.
    pub fn expect(&self, layout: &dyn Layout) {
        let is_plain = layout.encoding() == Encoding::Plain;
        self.assembled.replace((!is_plain).then(Vec::new));
    }

    /// Covers bytes of an assembled output. Only the start may come after other bytes, and no byte is covered
    /// twice.
    fn cover_bytes(&self, covered: &mut Vec<Range<usize>>, start: usize, end: usize) {
        assert!(!self.finished.get() && !self.aborted.get());
        let len = covered.last().map_or(0, |last| last.end);
        assert!(
            start < end && (start >= len || (end as u64) <= self.abilities.late_start),
            "out of order: {start}..{end}"
        );
        if end > len {
            self.bytes.borrow_mut().resize(end, self.unwritten());
        }
        let at = covered.partition_point(|range| range.end <= start);
        assert!(covered.get(at).is_none_or(|next| end <= next.start), "written twice: {start}..{end}");
        let touches_before = at > 0 && covered[at - 1].end == start;
        let touches_next = covered.get(at).is_some_and(|next| next.start == end);
        match (touches_before, touches_next) {
            (true, true) => covered[at - 1].end = covered.remove(at).end,
            (true, false) => covered[at - 1].end = end,
            (false, true) => covered[at].start = start,
            (false, false) => covered.insert(at, start..end),
        }
    }

    fn unwritten(&self) -> u8 {
        if self.abilities.holes == Holes::Skip { 0 } else { 0xee }
    }

    fn take(&self, bytes: &[u8], run: &Run) {
        let (start, end) = (run.offset as usize, run.end() as usize);
        if let Some(covered) = &mut *self.assembled.borrow_mut() {
            self.cover_bytes(covered, start, end);
        } else {
            assert!(run.offset.is_multiple_of(BLOCK), "a run does not start at a block: {run:?}");
            self.cover(start, end);
        }
        self.bytes.borrow_mut()[start..end].copy_from_slice(&bytes[run.start..run.start + run.len]);
        self.data_bytes.set(self.data_bytes.get() + run.len as u64);
    }
}

impl TargetHandle<Vec<u8>> for MemoryTarget {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        runs.iter().for_each(|run| self.take(bytes, run));
        ready(Ok(())).boxed_local()
    }
}

impl Target<Vec<u8>> for MemoryTarget {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        self.grows.set(size.is_none());
        let size = size.unwrap_or(0) as usize;
        *self.bytes.borrow_mut() = vec![self.unwritten(); size];
        *self.covered.borrow_mut() = vec![false; size.div_ceil(SECTOR)];
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, offset: u64, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        assert_ne!(self.abilities.holes, Holes::Skip, "a hole is told");
        let (start, end) = (offset as usize, (offset + len) as usize);
        match &mut *self.assembled.borrow_mut() {
            Some(covered) => self.cover_bytes(covered, start, end),
            None => self.cover(start, end),
        }
        self.bytes.borrow_mut()[start..end].fill(0);
        self.holes.borrow_mut().push((offset, len));
        ready(Ok(())).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        let all = match &*self.assembled.borrow() {
            Some(covered) => covered.len() <= 1 && covered.first().is_none_or(|first| first.start == 0),
            None => self.covered.borrow().iter().all(|&covered| covered),
        };
        assert!(self.abilities.holes == Holes::Skip || all, "a hole is not told");
        self.finished.set(true);
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        self.aborted.set(true);
        ready(()).boxed_local()
    }
}
