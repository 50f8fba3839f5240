//! The executor of the `workers` engine: jobs go to workers with memories of their own, by
//! `postMessage`. They come back written, or with the bytes to write.

use super::errors::caught;
use super::runner::{JsReply, internal};
use crate::convert::{Decoded, Executor, Job, MAX_JOB};
use crate::error::{ErrorKind, Result};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Function, Promise, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Jobs that a worker has at once: one that it decodes, one that it reads ahead.
const JOBS_PER_WORKER: usize = 2;
/// Job-sized buffers that a worker holds for them: two of input, one of output, one on its way to
/// the writer.
const BUFFERS_PER_WORKER: u64 = 4;

pub(super) struct Workers {
    dispatch: Function,
    count: usize,
    job_bytes: u64,
}

impl Workers {
    /// Sends jobs to `count` workers by `dispatch(job: Uint8Array): Promise<Reply>`; all jobs in
    /// flight together hold about `budget` bytes.
    pub fn new(dispatch: Function, count: usize, budget: u64) -> Self {
        Self { dispatch, count, job_bytes: (budget / (BUFFERS_PER_WORKER * count as u64)).min(MAX_JOB) }
    }
}

impl Executor for Workers {
    type Bytes = Uint8Array;

    fn depth(&self, job_bytes: u64) -> usize {
        ((self.count * JOBS_PER_WORKER) as u64 * self.job_bytes / job_bytes).max(1) as usize
    }

    fn job_bytes(&self) -> u64 {
        self.job_bytes
    }

    fn execute(&self, job: Job) -> LocalBoxFuture<'_, Result<Decoded<Uint8Array>>> {
        async move {
            if job.stretches.is_empty() {
                return Ok(Decoded { output: None, read: 0, written: 0, lost: job.lost });
            }
            let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Internal, "run a part of the conversion");
            let bytes = postcard::to_allocvec(&job).map_err(internal)?;
            let promise = self.dispatch.call1(&JsValue::NULL, &Uint8Array::from(&bytes[..])).map_err(failed)?;
            let reply = JsFuture::from(promise.unchecked_into::<Promise>()).await.map_err(failed)?;
            decoded(&reply.unchecked_into())
        }
        .boxed_local()
    }
}

fn decoded(reply: &JsReply) -> Result<Decoded<Uint8Array>> {
    let output = match (reply.bytes(), reply.runs()) {
        (Some(bytes), Some(runs)) => Some((bytes, postcard::from_bytes(&runs.to_vec()).map_err(internal)?)),
        _ => None,
    };
    let lost = match reply.lost() {
        Some(bytes) => postcard::from_bytes(&bytes.to_vec()).map_err(internal)?,
        None => Vec::new(),
    };
    Ok(Decoded { output, read: reply.read() as u64, written: reply.written() as u64, lost })
}
