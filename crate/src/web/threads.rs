//! The executor of the `threads` engine: the coordinator reads, a rayon pool over the same memory
//! decodes. The coordinator never blocks: it spawns, and awaits the answer.

use super::bytes::JsBytes;
use crate::convert::{Buffers, Decoded, Decoder, Executor, Job, Loaded, MAX_JOB, Outcome};
use crate::error::{Error, ErrorKind, Result};
use crate::extras::{Ciphers, Keys};
use crate::source::Files;
use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::Uint8Array;
use rayon::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Jobs in flight: two being read, one that the whole pool decodes, one being written.
const DEPTH: usize = 4;
/// The output that one thread decodes at a time, in bytes: smaller parts cost 3-5 %.
const PART: usize = 1 << 20;

/// Buffers that no job uses.
type Idle = Rc<RefCell<Vec<Buffers>>>;

pub(super) struct Pool {
    files: Files,
    ciphers: Arc<Ciphers>,
    job_bytes: u64,
    idle: Idle,
}

impl Pool {
    /// Reads from `files` and decrypts with `keys`; all jobs in flight together hold about `budget`
    /// bytes.
    pub fn new(files: Files, keys: &Keys, budget: u64) -> Result<Self> {
        Ok(Self {
            files,
            ciphers: Arc::new(Ciphers::new(keys)?),
            job_bytes: (budget / (2 * DEPTH as u64)).min(MAX_JOB),
            idle: Idle::default(),
        })
    }
}

/// A job's buffers, which go back to the idle ones when its output is written.
pub(super) struct Output {
    buffers: Buffers,
    home: Idle,
}

impl Drop for Output {
    fn drop(&mut self) {
        self.home.borrow_mut().push(std::mem::take(&mut self.buffers));
    }
}

impl JsBytes for Output {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        self.buffers.output.view(start, len)
    }

    fn copy_to(&self, start: usize, target: &Uint8Array) {
        self.buffers.output.copy_to(start, target);
    }
}

impl Executor for Pool {
    type Bytes = Output;

    fn depth(&self, job_bytes: u64) -> usize {
        (DEPTH as u64 * self.job_bytes / job_bytes).max(1) as usize
    }

    fn job_bytes(&self) -> u64 {
        self.job_bytes
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<Decoded<Output>>> {
        async move {
            let mut buffers = self.idle.borrow_mut().pop().unwrap_or_default();
            let (loaded, read) = job.read(&self.files, &mut buffers).await?;
            let ciphers = self.ciphers.clone();
            let (answer, answered) = oneshot::channel();
            rayon::spawn(move || {
                let outcome = match loaded {
                    Loaded::Input => decode(&job, &mut buffers, &ciphers),
                    Loaded::Output => Ok(Outcome::of_direct(&job, &buffers.output)),
                };
                // Nobody waits for it after a cancel.
                let _ = answer.send((outcome, buffers));
            });
            let (outcome, buffers) =
                answered.await.map_err(|_| Error::new(ErrorKind::Internal, "A decoding thread ended"))?;
            let output = Output { buffers, home: self.idle.clone() };
            let Outcome { runs, lost } = outcome?;
            let written = runs.iter().map(|run| run.len as u64).sum();
            Ok(Decoded { output: Some((output, runs)), read, written, lost })
        }
        .boxed_local()
    }
}

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::default();
}

/// Decodes a job on all threads of the pool.
fn decode(job: &Job, buffers: &mut Buffers, ciphers: &Ciphers) -> Result<Outcome> {
    let input = &buffers.input[..];
    let output = job.prepare(&mut buffers.output)?;
    let parts: Vec<_> = job
        .parts(output, PART)
        .into_par_iter()
        .map(|part| DECODER.with_borrow_mut(|decoder| decoder.decode_part(job, part, input, ciphers)))
        .collect();
    let mut lost = job.lost.clone();
    // In order: of several failures the first is told, not the fastest.
    for part in parts {
        lost.extend(part?);
    }
    Ok(Outcome { runs: job.runs(&buffers.output), lost })
}
