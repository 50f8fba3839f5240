//! A conversion announces its reads to sources with `expects`.

use crate::common::*;
use decant::convert::{Budget, Cancel, MAX_JOB, Output, read};
use decant::io::source::{Files, Profile, Reader};
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::offsets::{ByteRange, GuestRange, HostOffset};
use decant::output::{OUTPUT_FORMATS, Stamp, by_name};
use decant::{Image, OpenOptions, Result, Source};
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// A source that receives announcements of reads.
struct Told {
    held: Rc<HeldSource>,
    expects: bool,
    /// Announced ranges that were not read yet, with their readers.
    waiting: RefCell<Vec<(Reader, (u64, u64))>>,
    /// Readers that have announced ranges and have not ended.
    readers: RefCell<HashSet<Reader>>,
    told: Cell<u64>,
    most_waiting: Cell<u64>,
    /// Number of readers that have ended.
    ended: Cell<usize>,
}

impl Told {
    fn new(held: Rc<HeldSource>, expects: bool) -> Rc<Self> {
        let (waiting, readers, told, most_waiting, ended) = Default::default();
        Rc::new(Self { held, expects, waiting, readers, told, most_waiting, ended })
    }

    /// Asserts that no announced range is left.
    fn ensure_settled(&self, what: &str) {
        assert_eq!(*self.waiting.borrow(), [], "{what}");
        assert!(self.readers.borrow().is_empty(), "{what}: a reader has not ended");
    }
}

impl Source for Told {
    fn size(&self) -> u64 {
        self.held.size()
    }

    fn profile(&self) -> Profile {
        Profile { gap: 0, min_read: u64::MAX, expects: self.expects, ..Profile::default() }
    }

    fn expect(&self, reader: Reader, ranges: &[ByteRange]) {
        let mut waiting = self.waiting.borrow_mut();
        if ranges.is_empty() {
            self.readers.borrow_mut().remove(&reader);
            self.ended.set(self.ended.get() + 1);
            return waiting.retain(|(by, _)| *by != reader);
        }
        self.readers.borrow_mut().insert(reader);
        waiting.extend(ranges.iter().map(|range| (reader, (range.start.0, range.len))));
        self.told.set(self.told.get() + ranges.iter().map(|range| range.len).sum::<u64>());
        self.most_waiting.set(self.most_waiting.get().max(waiting.iter().map(|(_, (_, len))| len).sum()));
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let range = (offset.0, buf.len() as u64);
        self.waiting.borrow_mut().retain(|&(_, told)| told != range);
        self.held.read_at(offset, buf)
    }
}

#[test]
fn reads_are_announced_within_bounds_and_only_to_sources_that_expect_them() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=16k", text(&path), "64M"]);
    // Data under two L2 tables, of which each describes 32 MiB.
    qemu("qemu-io", &["-c", "write -q -P 7 0 24M", "-c", "write -q -P 9 40M 24M", text(&path)]);
    let expected = qemu_reads(&path, &raw);
    let image = std::fs::read(&path).unwrap();
    // (whether it expects, read ahead, minimum and maximum of announced bytes that are not read)
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
            let mut executor = Inline::new(image.files().clone(), image.keys(), 2, 4 << 20);
            executor.workload.read_ahead = read_ahead;
            let layout = layout(&OUTPUT_FORMATS[0], image.virtual_size())?;
            let output = Output::new(&*layout, Stamp::default(), &*writing);
            convert(&image, &executor, &output, &|_| {}, &Cancel::default()).await
        };
        drive(&told.held, Answers::OneAtATime, work).expect("it waits for nothing").unwrap();
        let row = format!("expects: {expects}, {read_ahead} ahead");
        assert!(*target.bytes.borrow() == expected, "{row}");
        // The data, and both tables, which are read at once.
        assert_eq!(told.told.get(), if expects { (48 << 20) + 2 * (16 << 10) } else { 0 }, "{row}");
        told.ensure_settled(&row);
        assert!((least..=most).contains(&told.most_waiting.get()), "{row}: {} waiting", told.most_waiting.get());
        assert_eq!(told.ended.get() > 0, expects, "{row}: in the end nothing more is needed");
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

/// The division of data shows in a compressed output. It is the same for every memory, number of workers and kind of
/// source.
#[test]
fn a_compressed_output_is_the_same_however_it_is_made() {
    let data: Vec<u8> = (0..9u32 << 20).map(|at| (at.wrapping_mul(at >> 9) >> 11) as u8 | 1).collect();
    // In MiB, and how many; those of the short scope come first.
    let all = [(32, 2), (48, 1), (384, 8), (32, 1), (32, 64), (64, 4), (2048, 1)];
    let few = &all[..3];
    for format in ["raw.gz", "raw.zst", "raw.xz", "qcow2", "vmdk"].map(|name| by_name(name).unwrap()) {
        let mut outputs = Vec::new();
        for expects in [false, true] {
            for &(memory, workers) in by_scope(few, &all, &all) {
                let told = Told::new(HeldSource::new(data.clone()), expects);
                let (source, target) =
                    (told.clone(), MemoryTarget::new(Abilities { late_start: u64::MAX, ..Abilities::default() }));
                let writing = target.clone();
                let work = async move {
                    let options = OpenOptions { format: Some("raw".to_owned()), ..OpenOptions::default() };
                    let image = Image::open(source, &options).await?;
                    let Budget { jobs, max_job, read_ahead } = Budget::new(image.files(), memory << 20);
                    let job = (jobs / (4 * workers)).min(max_job);
                    let mut executor = Inline::new(image.files().clone(), image.keys(), 2, job);
                    executor.workload.read_ahead = read_ahead;
                    let layout = layout(format, image.virtual_size())?;
                    writing.expect(&*layout);
                    let output = Output::new(&*layout, STAMP, &*writing);
                    convert(&image, &executor, &output, &|_| {}, &Cancel::default()).await
                };
                drive(&told.held, Answers::InOrder, work).expect("it waits for nothing").unwrap();
                outputs.push((format!("expects: {expects}, {memory} MiB, {workers} workers"), target.bytes.take()));
            }
        }
        let (_, first) = &outputs[0];
        let others: Vec<_> = outputs.iter().filter(|(_, bytes)| bytes != first).map(|(how, _)| how).collect();
        assert!(others.is_empty(), "{}, other bytes: {others:?}", format.name);
    }
}

/// An image with many tables that are not adjacent.
fn of_many_tables() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=4k", text(&path), "32M"]);
    let writes: Vec<String> = (0..16).map(|at| format!("write -q -P {} {}M 100k", at + 1, 2 * at)).collect();
    let args: Vec<&str> = writes.iter().flat_map(|write| ["-c", write]).chain([text(&path)]).collect();
    qemu("qemu-io", &args);
    std::fs::read(&path).unwrap()
}

#[test]
fn maps_examinations_and_reads_cancel_announcements_at_their_end() {
    let image = of_many_tables();
    for work_name in ["map", "survey", "read"] {
        let told = Told::new(HeldSource::new(image.clone()), true);
        let source = told.clone();
        let work = async move {
            // The format is stated, since the first bytes, which identify the file, include tables.
            let options = OpenOptions { format: Some("qcow2".to_owned()), ..OpenOptions::default() };
            let image = Image::open(source, &options).await.unwrap();
            match work_name {
                "map" => drop(all_extents(&image).await),
                "survey" => drop(image.survey().await.unwrap()),
                _ => drop(read(&image, GuestRange::from(0..image.virtual_size())).await.unwrap()),
            }
        };
        drive(&told.held, Answers::OneAtATime, work).expect("it waits for nothing");
        assert!(told.ended.get() > 0, "{work_name}: tables are told");
        assert_eq!(told.told.get(), 16 << 12, "{work_name}: each table once");
        told.ensure_settled(work_name);
        let reads = told.held.reads.borrow();
        let once: HashSet<_> = reads.iter().filter(|(start, _)| *start > 0).collect();
        assert_eq!(once.len(), reads.iter().filter(|(start, _)| *start > 0).count(), "{work_name}: {reads:?}");
    }
}

#[test]
fn an_abandoned_pass_cancels_its_announcements() {
    let told = Told::new(HeldSource::new(of_many_tables()), true);
    let source = told.clone();
    let work = async move {
        let image = Image::open(source.clone(), &OpenOptions::default()).await.unwrap();
        let mut pass = Box::pin(all_extents(&image));
        poll_fn(|context| {
            assert!(pass.as_mut().poll(context).is_pending(), "it waits for its tables");
            if source.waiting.borrow().is_empty() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        drop(pass);
        source.ensure_settled("given up");
    };
    drive(&told.held, Answers::OneAtATime, work).expect("it waits for nothing");
    assert_eq!(told.ended.get(), 1);
}
