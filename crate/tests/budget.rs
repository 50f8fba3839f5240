//! The memory of a worker for its jobs stays within its share of the memory of a conversion, for every output.

use crate::alone;
use crate::common::vmdk::{Grain, Kdmv, Packing, SECTOR};
use crate::common::{STAMP, by_scope, convert, layout};
use crate::counting::{HELD, PEAK};
use crate::limits::in_order;
use decant::convert::{Cancel, ExecutedJob, Executor, Job, Output, Transcoder, Workload};
use decant::crypt::Keys;
use decant::offsets::HostOffset;
use decant::output::by_name;
use decant::{Image, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

const MIB: u64 = 1 << 20;
/// The memory of a worker: four times the size of its jobs.
const SHARE: u64 = 16 * MIB;
/// Additional memory of a decoder and an encoder, the pipeline and the tables.
const BESIDES: u64 = 2 * MIB;
/// What the encoder of xz takes, in bytes; in the browser and in Node, it is in the memory of its module.
const XZ_ENCODER: u64 = 9 * MIB;

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

/// A worker as in the engine `workers`: it keeps its buffers, and returns copies.
struct Worker {
    workload: Workload,
    transcoder: Transcoder,
}

impl Executor for Worker {
    type Bytes = Vec<u8>;

    fn workload(&self) -> &Workload {
        &self.workload
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Vec<u8>>>> {
        async move {
            let ran = self.transcoder.run(job, &self.workload.files).await?;
            Ok(ran.executed(|bytes| {
                let copy = bytes.clone();
                self.transcoder.give_output(bytes);
                copy
            }))
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
    let all = vec![128, 2048, 4096];
    for grain in by_scope(vec![128, 4096], all.clone(), all) {
        let count = 24 * 2048 / grain;
        let grains: Vec<Grain> =
            (0..count).map(|_| Grain::Data((0..grain * SECTOR).map(|_| noise()).collect())).collect();
        let kdmv =
            Kdmv { capacity: (count * grain) as u64, grain: grain as u64, packing: Packing::Marked, ..Kdmv::default() };
        let source: Rc<dyn Source> = Rc::new(Bytes(kdmv.build(&grains)));
        drop(grains);
        for format in ["raw", "raw.gz", "raw.zst", "raw.xz", "qcow2", "vmdk"] {
            let image = block_on(Image::open(source.clone(), &OpenOptions::default())).unwrap();
            let worker = Worker {
                workload: Workload::within(SHARE, image.files().clone(), 2, 4),
                transcoder: Transcoder::new(Keys::default()),
            };
            let target = in_order();
            let format = by_name(format).unwrap();
            let layout = layout(format, image.virtual_size()).unwrap();
            let output = Output::new(&*layout, STAMP, &target);
            let before = HELD.load(Relaxed);
            PEAK.store(before, Relaxed);
            block_on(convert(&image, &worker, &output, &|_| {}, &Cancel::default())).unwrap();
            let peak = (PEAK.load(Relaxed) - before) as u64;
            let encoder = if format.name == "raw.xz" { XZ_ENCODER } else { 0 };
            assert!(peak <= SHARE + BESIDES + encoder, "{}, grains of {grain} sectors: {peak} bytes", format.name);
        }
    }
}
