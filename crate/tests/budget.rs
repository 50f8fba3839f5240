//! What a worker holds for its jobs stays within its share of the memory of a conversion, whatever it makes.

use crate::alone;
use crate::common::STAMP;
use crate::common::vmdk::{Grain, Kdmv, Packing, SECTOR};
use crate::counting::{HELD, PEAK};
use crate::limits::Nowhere;
use decant::compress::Encoder;
use decant::convert::{
    Cancel, Decoded, Decoder, Executor, Job, JobOutput, LoadedJob, Output, SpareBuffers, convert, run_job,
};
use decant::crypt::Ciphers;
use decant::io::source::Files;
use decant::offsets::HostOffset;
use decant::output::by_name;
use decant::{Image, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

const MIB: u64 = 1 << 20;
/// The memory of a worker, of which a quarter is the size of its jobs.
const SHARE: u64 = 16 * MIB;
/// What a decoder and an encoder hold besides, with what the pipeline and the tables take.
const BESIDES: u64 = 2 * MIB;

struct Bytes(Vec<u8>);

impl Source for Bytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        buf.copy_from_slice(&self.0[offset.0 as usize..][..buf.len()]);
        ready(Ok(())).boxed_local()
    }
}

/// A worker as the engine `workers` has it: it keeps its buffers, and hands out copies.
struct Worker {
    files: Files,
    decoder: RefCell<Decoder>,
    encoder: RefCell<Encoder>,
    spares: SpareBuffers,
}

impl Executor for Worker {
    type Bytes = Vec<u8>;

    fn job_bytes(&self) -> u64 {
        SHARE / 4
    }

    fn jobs_in_flight(&self, job_bytes: u64) -> usize {
        (2 * self.job_bytes() / job_bytes).max(1) as usize
    }

    fn files(&self) -> &Files {
        &self.files
    }

    fn read_ahead(&self) -> u64 {
        0
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<Decoded<Vec<u8>>>> {
        async move {
            let ciphers = Ciphers::default();
            let finish = async |loaded: LoadedJob| {
                let decode = |job: &_, buffers: &mut _| self.decoder.borrow_mut().decode(job, buffers, &ciphers);
                let deflate = |bytes: &_, runs: &_, out: &mut _| self.encoder.borrow_mut().deflate(bytes, runs, out);
                loaded.finish(decode, deflate)
            };
            let JobOutput { bytes, placement, lost, read } = run_job(job, &self.files, &self.spares, finish).await?;
            let copy = bytes.clone();
            self.spares.give_output(bytes);
            Ok(Decoded { written: placement.len(), output: Some((copy, placement)), read, lost })
        }
        .boxed_local()
    }
}

#[test]
fn a_worker_stays_within_its_share() {
    let _alone = alone();
    // Data that does not compress.
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for grain in [128, 2048, 4096] {
        let count = 24 * 2048 / grain;
        let grains: Vec<Grain> =
            (0..count).map(|_| Grain::Data((0..grain * SECTOR).map(|_| noise()).collect())).collect();
        let kdmv =
            Kdmv { capacity: (count * grain) as u64, grain: grain as u64, packing: Packing::Marked, ..Kdmv::default() };
        let source: Rc<dyn Source> = Rc::new(Bytes(kdmv.build(&grains)));
        drop(grains);
        for format in ["raw", "raw.gz"] {
            let image = block_on(Image::open(source.clone(), &OpenOptions::default())).unwrap();
            let worker = Worker {
                files: image.files().clone(),
                decoder: RefCell::default(),
                encoder: RefCell::default(),
                spares: SpareBuffers::default(),
            };
            let target = Nowhere::default();
            let format = by_name(format).unwrap();
            let writer = (format.writer)(image.virtual_size()).unwrap();
            let output = Output { writer: &*writer, stamp: STAMP, target: &target };
            let before = HELD.load(Relaxed);
            PEAK.store(before, Relaxed);
            block_on(convert(&image, &worker, &output, &|_| {}, &Cancel::default())).unwrap();
            let peak = (PEAK.load(Relaxed) - before) as u64;
            assert!(peak <= SHARE + BESIDES, "{}, grains of {grain} sectors: {peak} bytes", format.name);
        }
    }
}
