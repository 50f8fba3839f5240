//! The executor of the `threads` engine: the coordinator reads, and a rayon pool over the same memory decodes. The
//! coordinator never blocks: it spawns a task and awaits its result.

use super::bytes::JsBytes;
use crate::compress::{CompressedEncoding, EncodedPart, Encoder, GuestRun};
use crate::container::part::{ContainerNumber, DecodedPart, PartDecoder, decode_part};
use crate::convert::decoder::{DecodedJob, Decoder};
use crate::convert::job::JobBuffers;
use crate::convert::run::{SpareBuffers, run_job};
use crate::convert::{ExecutedJob, Executor, Job, Workload};
use crate::crypt::{Ciphers, Keys};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::Files;
use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::Uint8Array;
use rayon::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Jobs in flight: two being read, one being decoded by the whole pool, one being written.
const DEPTH: usize = 4;
/// Job-sized buffers for them: one for input and one for output each.
const BUFFERS: u64 = 2 * DEPTH as u64;
/// Output that one thread decodes at a time, in bytes: smaller parts cost 3-5 %.
const PART: usize = 1 << 20;

pub(super) struct Pool {
    workload: Workload,
    keys: Arc<Keys>,
    spares: Rc<SpareBuffers>,
}

impl Pool {
    /// Creates a pool that reads from `files` and decrypts with `keys`. Memory use is about `memory` bytes.
    pub(super) fn new(files: Files, keys: Keys, memory: u64) -> Self {
        let workload = Workload::within(memory, files, DEPTH, BUFFERS);
        Self { workload, keys: Arc::new(keys), spares: Rc::default() }
    }
}

/// A job's output. Its buffer is reused after it was written.
pub(super) struct PooledOutput {
    bytes: Vec<u8>,
    spares: Rc<SpareBuffers>,
}

impl Drop for PooledOutput {
    fn drop(&mut self) {
        self.spares.give_output(std::mem::take(&mut self.bytes));
    }
}

impl From<&[u8]> for PooledOutput {
    fn from(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), spares: Rc::default() }
    }
}

impl JsBytes for PooledOutput {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        self.bytes.view(start, len)
    }

    fn copy_to(&self, start: usize, target: &Uint8Array) {
        self.bytes.copy_to(start, target);
    }
}

impl Executor for Pool {
    type Bytes = PooledOutput;

    fn workload(&self) -> &Workload {
        &self.workload
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<PooledOutput>>> {
        async move {
            let ran = run_job(job, &self.workload.files, &self.spares, async |loaded| {
                let keys = self.keys.clone();
                let (answer, answered) = oneshot::channel();
                rayon::spawn(move || {
                    let decode = |job: &_, buffers: &mut _| decode(job, buffers, &keys);
                    // After a cancel there is no receiver.
                    let _ = answer.send(loaded.finish(decode, encode));
                });
                answered.await.map_err(|_| Error::new(ErrorKind::Internal, "A decoding thread ended"))?
            });
            Ok(ran.await?.executed(|bytes| PooledOutput { bytes, spares: self.spares.clone() }))
        }
        .boxed_local()
    }
}

/// Decodes the parts of a compressed file on the threads of the pool.
pub(super) struct PartThreads;

impl PartDecoder for PartThreads {
    fn depth(&self) -> usize {
        rayon::current_num_threads() + 1
    }

    fn decode(&self, container: ContainerNumber, part: Vec<u8>) -> LocalBoxFuture<'static, Option<DecodedPart>> {
        let (answer, answered) = oneshot::channel();
        rayon::spawn(move || {
            // Opening the file has made the module ready. Nobody receives the answer after a cancel.
            let _ = answer.send(decode_part(container, part));
        });
        async move {
            let (size, bytes) = answered.await.ok()?.ok()?;
            Some(DecodedPart { size, bytes: Box::new(bytes) })
        }
        .boxed_local()
    }
}

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::default();
    static ENCODER: RefCell<Encoder> = RefCell::default();
}

/// Encodes a job on the thread that decoded it. Other threads encode other jobs.
fn encode(
    encoding: CompressedEncoding,
    bytes: &[u8],
    runs: &[GuestRun],
    output: &mut Vec<u8>,
) -> Result<Vec<EncodedPart>> {
    ENCODER.with_borrow_mut(|encoder| encoder.encode(encoding, bytes, runs, output))
}

/// Decodes a job on all threads of the pool.
fn decode(job: &Job, buffers: &mut JobBuffers, keys: &Keys) -> Result<DecodedJob> {
    let input = &buffers.input[..];
    let output = job.prepare(&mut buffers.output)?;
    let decode = |part| {
        let mut ciphers = Ciphers::default();
        let decrypt = |cipher, sector, from: &_, to: &mut _| ciphers.decrypt(keys, cipher, sector, from, to);
        DECODER.with_borrow_mut(|decoder| decoder.decode_part(job, part, input, decrypt))
    };
    let parts: Vec<_> = job.parts(output, PART).into_par_iter().map(decode).collect();
    // In order: of several failures, the first in the job is reported, not the first in time.
    DecodedJob::of_parts(job, &mut buffers.output, parts)
}
