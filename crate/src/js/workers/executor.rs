//! The executor of the `workers` engine: sends jobs by `postMessage` to workers with separate memories. Workers return
//! the output, or write it themselves.

use crate::convert::{ExecutedJob, Executor, Job, Workload};
use crate::error::{ErrorKind, Result};
use crate::io::source::{FileId, FileRange, Files, zeroed};
use crate::js::bytes::release;
use crate::js::errors::caught;
use crate::js::task::{JsReply, Task, executed_job, message};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Array, ArrayBuffer, Function, Promise, Uint8Array};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Number of jobs that a worker has at once: one being decoded, one being read.
const JOBS_PER_WORKER: usize = 2;
/// Number of job-sized buffers that each worker needs: two for input, one for output, one on its way to the writer.
const BUFFERS_PER_WORKER: u64 = 4;

pub(super) struct Workers {
    dispatch: Function,
    workload: Workload,
    /// Maps each file to the caller's file that contains it.
    given: Vec<FileId>,
    spares: SpareArrays,
}

impl Workers {
    /// Sends jobs on `files` to `count` workers by `dispatch(job: Uint8Array, reads: (Range | Uint8Array)[]):
    /// Promise<Reply>`. `reads` has an entry for each read, in the order of the job, in files that workers cannot open:
    /// the range `{ file, offset, length }`, whose bytes are to travel with the job, or the bytes themselves if they
    /// are made here. Memory use is about `memory` bytes. `given` maps each of `files` to the caller's file that
    /// contains it.
    pub(super) fn new(dispatch: Function, count: usize, memory: u64, files: Files, given: Vec<FileId>) -> Self {
        let workload = Workload::within(memory, files, JOBS_PER_WORKER * count, BUFFERS_PER_WORKER * count as u64);
        Self { dispatch, workload, given, spares: SpareArrays::default() }
    }

    /// Lets up to `jobs` more jobs wait in `dispatch`, unless data would travel with them.
    pub(super) fn ahead(mut self, jobs: usize) -> Self {
        if self.workload.files.iter().all(|file| file.profile().opened_by_workers) {
            self.workload.ahead = jobs;
        }
        self
    }

    /// Collects the data that travels with a job: ranges of the caller's files, and bytes that are made here.
    async fn travelling(&self, reads: &[FileRange]) -> Result<Array> {
        let travelling = Array::new();
        for read in reads {
            let file = &self.workload.files[usize::from(read.file.0)];
            let profile = file.profile();
            if profile.made_here {
                let len = read.len as usize;
                let is_lent = file.lend(read.start, len, &mut |bytes| _ = travelling.push(&self.spares.filled(bytes)));
                if !is_lent {
                    let mut bytes = zeroed(len)?;
                    file.read_at(read.start, &mut bytes).await?;
                    travelling.push(&self.spares.filled(&bytes));
                }
            } else if !profile.opened_by_workers {
                let given = self.given[usize::from(read.file.0)];
                travelling.push(&js_range(&FileRange { file: given, ..self.in_its_file(read) }));
            }
        }
        Ok(travelling)
    }

    /// Converts a range of a part of a file to the range of the whole file that workers open.
    fn in_its_file(&self, read: &FileRange) -> FileRange {
        let start = self.workload.files[usize::from(read.file.0)].start().unwrap_or(0);
        FileRange { start: HostOffset(read.start.0 + start), ..*read }
    }
}

impl Executor for Workers {
    type Bytes = Uint8Array;

    fn workload(&self) -> &Workload {
        &self.workload
    }

    fn execute(&self, mut job: Job) -> LocalBoxFuture<'_, Result<ExecutedJob<Uint8Array>>> {
        async move {
            if job.guest_ranges.is_empty() {
                return Ok(ExecutedJob::default());
            }
            let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Internal, "run a part of the conversion");
            let travelling = self.travelling(&job.reads).await?;
            for read in &mut job.reads {
                *read = self.in_its_file(read);
            }
            let bytes = message(&Task::Run(job))?;
            let promise = self.dispatch.call2(&JsValue::NULL, &Uint8Array::from(&bytes[..]), &travelling);
            let promise = promise.map_err(failed)?;
            let reply = JsFuture::from(promise.unchecked_into::<Promise>()).await.map_err(failed)?;
            let reply: JsReply = reply.unchecked_into();
            self.spares.take_back(&travelling, &reply.brought().unwrap_or_default());
            executed_job(&reply)
        }
        .boxed_local()
    }

    fn take_back(&self, bytes: Uint8Array) {
        release(&bytes.buffer());
    }
}

#[wasm_bindgen]
extern "C" {
    /// `{ file, offset, length }`.
    #[wasm_bindgen(extends = js_sys::Object)]
    type JsRange;
    #[wasm_bindgen(method, setter)]
    fn set_file(this: &JsRange, value: u16);
    #[wasm_bindgen(method, setter)]
    fn set_offset(this: &JsRange, value: f64);
    #[wasm_bindgen(method, setter)]
    fn set_length(this: &JsRange, value: f64);
}

fn js_range(range: &FileRange) -> JsRange {
    let object: JsRange = js_sys::Object::new().unchecked_into();
    object.set_file(range.file.0);
    object.set_offset(range.start.0 as f64);
    object.set_length(range.len as f64);
    object
}

/// The most buffers that are kept.
const SPARES: usize = 4;

/// Buffers that have come back. They are filled again: memory that is new to the process takes longer than a copy.
#[derive(Default)]
pub(super) struct SpareArrays(RefCell<Vec<ArrayBuffer>>);

impl SpareArrays {
    /// Returns an array with `bytes`.
    pub(super) fn filled(&self, bytes: &[u8]) -> Uint8Array {
        let len = bytes.len() as u32;
        let buffer = self.take(len).unwrap_or_else(|| ArrayBuffer::new(len));
        let array = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len);
        array.copy_from(bytes);
        array
    }

    /// Takes a spare of at least `len` bytes. If the next one is smaller, frees it.
    pub(super) fn take(&self, len: u32) -> Option<ArrayBuffer> {
        let spare = self.0.borrow_mut().pop()?;
        if spare.byte_length() < len {
            release(&spare);
            return None;
        }
        Some(spare)
    }

    /// Keeps `buffer`, or frees it if there are enough.
    pub(super) fn keep(&self, buffer: ArrayBuffer) {
        let mut spares = self.0.borrow_mut();
        if spares.len() < SPARES && buffer.byte_length() > 0 { spares.push(buffer) } else { release(&buffer) }
    }

    /// Keeps the arrays `sent` that a worker has `returned`. Frees what it returned for ranges.
    pub(super) fn take_back(&self, sent: &Array, returned: &Array) {
        for (sent, returned) in sent.iter().zip(returned.iter()) {
            let buffer = returned.unchecked_into::<Uint8Array>().buffer();
            if sent.is_instance_of::<Uint8Array>() { self.keep(buffer) } else { release(&buffer) }
        }
    }
}
