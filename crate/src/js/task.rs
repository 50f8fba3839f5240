//! Messages between coordinators and workers, and the files whose bytes are delivered with a job.

use crate::compress::Placement;
use crate::container::part::{ContainerNumber, PartFacts};
use crate::convert::digest::Digested;
use crate::convert::{ExecutedJob, Job, Transcoder};
use crate::crypt::Keys;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileRange, Source, zeroed};
use crate::io::target::TargetHandle;
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Array, Object, Uint8Array};
use postcard::experimental::serialized_size;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use zeroize::Zeroizing;

/// A message to a worker.
#[derive(Serialize, Deserialize)]
pub(super) enum Task {
    Run(Job),
    /// Decodes a part of a compressed file, which travels with the task, in pieces. The second field states whether room for its data
    /// is before them.
    DecodePart(ContainerNumber, bool),
}

/// The keys in a message, which is wiped. Fails with `internal`.
pub(super) fn keys_of(message: Option<Vec<u8>>) -> Result<Keys> {
    Ok(message.map(Zeroizing::new).map(|bytes| Keys::from_bytes(&bytes)).transpose()?.unwrap_or_default())
}

/// Serialises `value` for another worker. Fails with `internal` if memory runs out.
pub(super) fn message(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = zeroed(serialized_size(value).map_err(internal)?)?;
    postcard::to_slice(value, &mut bytes).map_err(internal)?;
    Ok(bytes)
}

pub(super) fn internal(cause: postcard::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("A message between workers could not be read: {cause}"))
}

/// Runs `job`, which reads from `files`. With a `handle` of the target, writes the output, unless it is encoded: the coordinator knows
/// where encoded parts belong. Fails with `source`, `corrupt`, `target` or `internal`.
pub(super) async fn execute(
    transcoder: &Transcoder,
    job: Job,
    files: &[Rc<dyn Source>],
    handle: Option<&dyn TargetHandle<Vec<u8>>>,
) -> Result<ExecutedJob<Vec<u8>>> {
    let is_hashed = job.digested == Digested::Data;
    let mut done = transcoder.run(job, files).await?.executed(|bytes| bytes);
    match (handle, done.output.take()) {
        (Some(handle), Some((bytes, Placement::Runs(runs)))) => {
            let written: Vec<_> = runs.iter().map(|run| run.in_output()).collect();
            handle.write(&bytes, &written).await?;
            if is_hashed {
                done.digested = Some((bytes, runs));
            } else {
                transcoder.give_output(bytes);
            }
        }
        (_, output) => done.output = output,
    }
    Ok(done)
}

/// Makes the reply to a job. Fails with `internal` if memory runs out.
pub(super) fn reply_of(job: &ExecutedJob<Vec<u8>>) -> Result<JsReply> {
    let reply = reply_with(job)?;
    if let Some((bytes, _)) = &job.output {
        reply.set_bytes(if job.written == 0 { Uint8Array::default() } else { Uint8Array::from(&bytes[..]) });
    }
    if let Some((bytes, _)) = &job.digested {
        reply.set_digested(Uint8Array::from(&bytes[..]));
    }
    Ok(reply)
}

/// The result of a job in `reply`. Fails with `internal`.
pub(super) fn executed_job(reply: &JsReply) -> Result<ExecutedJob<Uint8Array>> {
    let mut job: ExecutedJob<Uint8Array> = reply.report_as()?;
    if let Some((bytes, _)) = &mut job.output {
        *bytes = reply.bytes();
    }
    if let Some((bytes, _)) = &mut job.digested {
        *bytes = reply.digested();
    }
    Ok(job)
}

/// Makes the reply to a part of a compressed file, with `facts` about its data: `data`, or nothing if it is all zeros. Fails with
/// `internal` if memory runs out.
pub(super) fn reply_of_part(facts: PartFacts, data: Uint8Array) -> Result<JsReply> {
    let reply = reply_with(&facts)?;
    reply.set_bytes(data);
    Ok(reply)
}

/// The length of most reports, at most, in bytes: for these, nothing is allocated.
const SHORT: usize = 512;

fn reply_with(report: &impl Serialize) -> Result<JsReply> {
    let reply: JsReply = Object::new().unchecked_into();
    let mut short = [0; SHORT];
    reply.set_report(match postcard::to_slice(report, &mut short) {
        Ok(bytes) => Uint8Array::from(&*bytes),
        Err(_) => Uint8Array::from(&message(report)?[..]),
    });
    Ok(reply)
}

impl JsReply {
    /// The report: an [`ExecutedJob`], or [`PartFacts`]. Fails with `internal`.
    pub(super) fn report_as<T: DeserializeOwned>(&self) -> Result<T> {
        let (report, mut short) = (self.report(), [0; SHORT]);
        match short.get_mut(..report.length() as usize) {
            Some(bytes) => {
                report.copy_to(bytes);
                postcard::from_bytes(bytes)
            }
            None => postcard::from_bytes(&report.to_vec()),
        }
        .map_err(internal)
    }
}

#[wasm_bindgen]
extern "C" {
    /// The reply of a runner: `{ report, bytes?, digested?, brought? }`.
    #[wasm_bindgen(extends = js_sys::Object)]
    pub type JsReply;
    #[wasm_bindgen(method, getter)]
    fn report(this: &JsReply) -> Uint8Array;
    #[wasm_bindgen(method, setter)]
    fn set_report(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn bytes(this: &JsReply) -> Uint8Array;
    #[wasm_bindgen(method, setter)]
    fn set_bytes(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    fn digested(this: &JsReply) -> Uint8Array;
    #[wasm_bindgen(method, setter)]
    fn set_digested(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn brought(this: &JsReply) -> Option<Array>;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_brought(this: &JsReply, value: Array);
}

/// The bytes of one read.
pub(super) trait DeliveredBytes {
    fn len(&self) -> usize;

    /// Fills `buf` with the bytes from `start`.
    fn copy_to(&self, start: usize, buf: &mut [u8]);
}

struct Delivered<B> {
    /// Ascending and disjoint, like the reads of a job.
    ranges: Vec<(FileRange, B)>,
}

impl<B: DeliveredBytes> Delivered<B> {
    fn copy(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let number = self.ranges.partition_point(|(range, _)| range.end() <= offset);
        let missing = || Error::new(ErrorKind::Internal, format!("A job has not brought byte {offset} of a file"));
        let (range, bytes) = self.ranges.get(number).ok_or_else(missing)?;
        let start = offset.checked_sub(range.start.0).ok_or_else(missing)? as usize;
        if start + buf.len() > bytes.len() {
            return Err(missing());
        }
        bytes.copy_to(start, buf);
        Ok(())
    }
}

impl<B: DeliveredBytes> Source for Delivered<B> {
    fn size(&self) -> u64 {
        self.ranges.last().map_or(0, |(range, _)| range.end())
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        ready(self.copy(offset.0, buf)).boxed_local()
    }
}

/// Returns the files for `job`: `opened`, and for each `None`, the bytes that were `brought`. Fails with `internal` if a read of the job
/// has brought none.
pub(super) fn files_of<B: DeliveredBytes + 'static>(
    job: &Job,
    opened: &[Option<Rc<dyn Source>>],
    mut brought: impl Iterator<Item = B>,
) -> Result<Vec<Rc<dyn Source>>> {
    let mut delivered: Vec<_> = opened.iter().map(|_| Delivered { ranges: Vec::new() }).collect();
    for read in &job.reads {
        let file = usize::from(read.file.0);
        if opened.get(file).is_some_and(Option::is_none) {
            let missing = || Error::new(ErrorKind::Internal, "A job has come without its bytes");
            delivered[file].ranges.push((*read, brought.next().ok_or_else(missing)?));
        }
    }
    let files = opened.iter().zip(delivered);
    Ok(files.map(|(file, delivered)| file.clone().unwrap_or_else(|| Rc::new(delivered))).collect())
}
