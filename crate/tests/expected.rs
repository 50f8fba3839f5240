//! What a conversion reads is told to sources that expect it.

use crate::common::*;
use decant::convert::{Budget, Cancel, MAX_JOB, Output, convert};
use decant::io::source::{Files, Profile};
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::offsets::{ByteRange, HostOffset};
use decant::output::{OUTPUT_FORMATS, Stamp};
use decant::{Image, OpenOptions, Result, Source};
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A source that is told what will be read.
struct Told {
    held: Rc<HeldSource>,
    expects: bool,
    /// Ranges that were told and not read yet.
    waiting: RefCell<Vec<(u64, u64)>>,
    told: Cell<u64>,
    most_waiting: Cell<u64>,
    forgotten: Cell<bool>,
}

impl Told {
    fn new(held: Rc<HeldSource>, expects: bool) -> Rc<Self> {
        let (waiting, told, most_waiting, forgotten) = Default::default();
        Rc::new(Self { held, expects, waiting, told, most_waiting, forgotten })
    }
}

impl Source for Told {
    fn size(&self) -> u64 {
        self.held.size()
    }

    fn profile(&self) -> Profile {
        Profile { gap: 0, min_read: u64::MAX, expects: self.expects, ..Profile::default() }
    }

    fn expect(&self, ranges: &[ByteRange]) {
        self.forgotten.set(ranges.is_empty());
        let mut waiting = self.waiting.borrow_mut();
        waiting.extend(ranges.iter().map(|range| (range.start.0, range.len)));
        self.told.set(self.told.get() + ranges.iter().map(|range| range.len).sum::<u64>());
        self.most_waiting.set(self.most_waiting.get().max(waiting.iter().map(|(_, len)| len).sum()));
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let range = (offset.0, buf.len() as u64);
        self.waiting.borrow_mut().retain(|&told| told != range);
        self.held.read_at(offset, buf)
    }
}

#[test]
fn what_is_read_is_told_before_within_bounds_and_only_to_who_expects_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=16k", text(&path), "64M"]);
    // Data under two L2 tables, of which each describes 32 MiB.
    qemu("qemu-io", &["-c", "write -q -P 7 0 24M", "-c", "write -q -P 9 40M 24M", text(&path)]);
    let expected = qemu_reads(&path, &raw);
    let image = std::fs::read(&path).unwrap();
    // (whether it expects, read ahead, the least and the most that is told and not read)
    let rows = [
        (false, 8 << 20, 0, 0),
        (true, 0, 1 << 20, 4 << 20),
        (true, 8 << 20, 8 << 20, 20 << 20),
        (true, 64 << 20, 24 << 20, 48 << 20),
    ];
    for (expects, read_ahead, least, most) in rows {
        let told = Told::new(HeldSource::new(image.clone()), expects);
        let (source, target) = (told.clone(), MemoryTarget::new(Abilities::default()));
        let writing = target.clone();
        let work = async move {
            let image = Image::open(source, &OpenOptions::default()).await?;
            let executor = Inline::new(image.files().clone(), &image.keys(), 2, 4 << 20)?.reading_ahead(read_ahead);
            let writer = (OUTPUT_FORMATS[0].writer)(image.virtual_size())?;
            let output = Output { writer: &*writer, stamp: Stamp::default(), target: &*writing };
            convert(&image, &executor, &output, &|_| {}, &Cancel::default()).await
        };
        drive(&told.held, Answers::OneAtATime, work).expect("it waits for nothing").unwrap();
        let row = format!("expects: {expects}, {read_ahead} ahead");
        assert!(*target.bytes.borrow() == expected, "{row}");
        // The data, and both tables, which are read at once.
        assert_eq!(told.told.get(), if expects { (48 << 20) + 2 * (16 << 10) } else { 0 }, "{row}");
        assert!(told.waiting.borrow().is_empty(), "{row}: reads are as they were told");
        assert!((least..=most).contains(&told.most_waiting.get()), "{row}: {} waiting", told.most_waiting.get());
        assert_eq!(told.forgotten.get(), expects, "{row}: in the end nothing more is needed");
    }
}

#[test]
fn memory_is_divided_where_a_file_expects() {
    let files =
        |expects: bool| -> Files { Rc::new([Told::new(HeldSource::new(Vec::new()), expects) as Rc<dyn Source>]) };
    let mib = |count: u64| count << 20;
    let budget = |jobs: u64, max_job: u64, read_ahead: u64| Budget { jobs, max_job, read_ahead };
    assert_eq!(Budget::new(&files(false), mib(32)), budget(mib(32), MAX_JOB, 0));
    assert_eq!(Budget::new(&files(true), mib(32)), budget(mib(16), mib(4), mib(16)));
    assert_eq!(Budget::new(&files(true), mib(96)), budget(mib(64), mib(4), mib(32)));
}
