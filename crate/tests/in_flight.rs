//! How many jobs an executor has at once.

use crate::common::each_run::EachRun;
use crate::common::vmdk::{Grain, Kdmv, Packing, SECTOR};
use crate::common::{FileSource, STAMP, convert, layout};
use decant::convert::{Cancel, ExecutedJob, Executor, Job, Output, Transcoder, Workload};
use decant::crypt::Keys;
use decant::io::target::Abilities;
use decant::output::by_name;
use decant::{Image, OpenOptions, Result};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::Cell;
use std::rc::Rc;
use std::task::Poll;

const KIB: usize = 1 << 10;
const DEPTH: usize = 2;
const AHEAD: usize = 5;
const JOB: u64 = 256 << 10;

/// Counts the jobs that it has. Each waits until all that it may have are there.
struct Counting {
    workload: Workload,
    transcoder: Transcoder,
    now: Cell<usize>,
    most: Cell<usize>,
}

impl Executor for Counting {
    type Bytes = Vec<u8>;

    fn workload(&self) -> &Workload {
        &self.workload
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Vec<u8>>>> {
        async move {
            self.now.set(self.now.get() + 1);
            self.most.set(self.most.get().max(self.now.get()));
            let mut waited = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            let ran = self.transcoder.run(job, &self.workload.files).await;
            self.now.set(self.now.get() - 1);
            Ok(ran?.executed(|bytes| bytes))
        }
        .boxed_local()
    }
}

/// Jobs of a compressed output are counted with the memory of the codec and with their results, whatever the size of a grain.
#[test]
fn compressed_jobs_in_flight_fit_into_the_memory() {
    const MIB: u64 = 1 << 20;
    let grain = 2 * MIB as usize;
    let grains: Vec<Grain> = (1..=20).map(|number| Grain::Data(vec![number; grain])).collect();
    let sectors = (grain / SECTOR) as u64;
    let capacity = grains.len() as u64 * sectors;
    let vmdk = Kdmv { capacity, grain: sectors, packing: Packing::Marked, ..Kdmv::default() }.build(&grains);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.vmdk");
    std::fs::write(&path, vmdk).unwrap();
    let image = block_on(Image::open(Rc::new(FileSource::open(&path).unwrap()), &OpenOptions::default())).unwrap();
    // As of eight workers, and of two.
    for (memory, workers, expected) in [(128 * MIB, 8, 8), (32 * MIB, 2, 2)] {
        let workload = Workload::within(memory, image.files().clone(), 2 * workers, 4 * workers as u64);
        let executor =
            Counting { workload, transcoder: Transcoder::new(Keys::default()), now: Cell::new(0), most: Cell::new(0) };
        let target = EachRun::new(Abilities { late_start: u64::MAX, ..Abilities::default() }, |_, _| {});
        let layout = layout(by_name("raw.gz").unwrap(), image.virtual_size()).unwrap();
        let output = Output::new(&*layout, STAMP, &target);
        block_on(convert(&image, &executor, &output, &|_| {}, &Cancel::default())).unwrap();
        assert_eq!(executor.most.get(), expected, "{workers} workers");
    }
}

#[test]
fn more_jobs_are_there_only_if_they_may_end_in_any_order_and_fit() {
    let any_order = Abilities { late_start: u64::MAX, ..Abilities::default() };
    let ascending = Abilities { ascending: true, ..any_order };
    // (KiB of a grain, output, abilities of the target, jobs at once)
    for (grain, format, abilities, expected) in [
        (64, "raw", any_order, DEPTH + AHEAD),
        (64, "vpc", any_order, DEPTH + AHEAD),
        (64, "raw", ascending, DEPTH),
        // It is compressed, and its jobs are larger.
        (64, "qcow2", any_order, 1),
        // A grain has the size of eight jobs.
        (2048, "raw", any_order, 1),
    ] {
        let sectors = grain * KIB / SECTOR;
        let grains: Vec<Grain> =
            (1..=8192 / grain).map(|number| Grain::Data(vec![number as u8; grain * KIB])).collect();
        let capacity = (grains.len() * sectors) as u64;
        let vmdk = Kdmv { capacity, grain: sectors as u64, packing: Packing::Marked, ..Kdmv::default() }.build(&grains);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.vmdk");
        std::fs::write(&path, vmdk).unwrap();
        let source = Rc::new(FileSource::open(&path).unwrap());
        let image = block_on(Image::open(source, &OpenOptions::default())).unwrap();
        let mut workload = Workload::within(4 * JOB, image.files().clone(), DEPTH, 4);
        workload.ahead = AHEAD;
        let executor =
            Counting { workload, transcoder: Transcoder::new(Keys::default()), now: Cell::new(0), most: Cell::new(0) };
        let target = EachRun::new(abilities, |_, _| {});
        let layout = layout(by_name(format).unwrap(), image.virtual_size()).unwrap();
        let output = Output::new(&*layout, STAMP, &target);
        block_on(convert(&image, &executor, &output, &|_| {}, &Cancel::default())).unwrap();
        assert_eq!(executor.most.get(), expected, "grains of {grain} KiB to {format}, {abilities:?}");
    }
}
