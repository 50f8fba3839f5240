//! A worker of the `workers` engine: runs jobs in a separate memory, without parsing metadata.

use super::brought_part::BroughtPart;
use super::delivered::Delivered;
use super::turn::turn;
use crate::compress::{GuestRun, Placement};
use crate::container::part::{ContainerNumber, PartDecoding};
use crate::convert::run::JobOutput;
use crate::convert::{Job, Transcoder};
use crate::crypt::Keys;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, zeroed};
use crate::io::target::TargetHandle;
use js_sys::{Array, Uint8Array};
use postcard::experimental::serialized_size;
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

/// How many steps of a part a worker runs before its other tasks get a turn. Those write data that is already decoded.
const STEPS: usize = 4;

/// A pool worker's state for one conversion.
#[wasm_bindgen]
pub struct Runner {
    /// `None` for a file whose bytes travel with the jobs.
    files: Vec<Option<Rc<dyn Source>>>,
    transcoder: Transcoder,
    handle: Option<Box<dyn TargetHandle<Vec<u8>>>>,
}

#[wasm_bindgen]
impl Runner {
    /// Reads from `files`; `undefined` is a file whose bytes travel with the jobs. Decrypts with `keys`. Writes by
    /// `handle`, or returns the output if that is `undefined`.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &Array, keys: Option<Vec<u8>>, handle: JsValue) -> std::result::Result<Runner, JsValue> {
        let handle = if handle.is_undefined() { None } else { Some(super::handle::handle(&handle)?) };
        let keys = keys.map(Zeroizing::new).map(|bytes| Keys::from_bytes(&bytes)).transpose()?.unwrap_or_default();
        Ok(Self {
            files: files.iter().map(|file| (!file.is_undefined()).then(|| super::source(file))).collect(),
            transcoder: Transcoder::new(keys),
            handle,
        })
    }

    /// Runs a task. `brought` has the bytes that travel with it: for a job, an array for each read in files whose bytes travel, which
    /// the reply returns. The memory of a part is freed.
    pub async fn run(&self, task: Vec<u8>, brought: Option<Array>) -> std::result::Result<JsReply, JsValue> {
        match postcard::from_bytes(&task).map_err(internal)? {
            Task::Run(job) => self.run_job(job, brought.unwrap_or_default()).await,
            Task::DecodePart(container, has_room) => {
                Ok(self.decode_part(container, has_room, brought.unwrap_or_default()).await?)
            }
        }
    }

    async fn run_job(&self, job: Job, brought: Array) -> std::result::Result<JsReply, JsValue> {
        let files = self.files_of(&job, &brought)?;
        let JobOutput { bytes, placement, lost, read } = self.transcoder.run(job, &files).await?;
        let reply: JsReply = js_sys::Object::new().unchecked_into();
        reply.set_read(read as f64);
        reply.set_written(placement.len() as f64);
        if !lost.is_empty() {
            reply.set_lost(Uint8Array::from(&message(&lost)?[..]));
        }
        match (&self.handle, placement) {
            (Some(handle), Placement::Runs(runs)) => {
                let runs: Vec<_> = runs.into_iter().map(GuestRun::in_output).collect();
                handle.write(&bytes, &runs).await?;
            }
            // The coordinator knows where encoded parts belong.
            (_, placement) => {
                reply.set_placement(Uint8Array::from(&message(&placement)?[..]));
                reply.set_bytes(if placement.len() == 0 {
                    Uint8Array::default()
                } else {
                    Uint8Array::from(&bytes[..])
                });
            }
        }
        self.transcoder.give_output(bytes);
        reply.set_brought(brought);
        Ok(reply)
    }
}

impl Runner {
    async fn decode_part(&self, container: ContainerNumber, has_room: bool, brought: Array) -> Result<JsReply> {
        container.prepare().await?;
        let room: Uint8Array = if has_room { brought.shift().unchecked_into() } else { Uint8Array::default() };
        let mut decoding = PartDecoding::begin(container, Box::new(BroughtPart::new(brought)), room)?;
        let mut steps = 0;
        while !decoding.step()? {
            steps += 1;
            if steps % STEPS == 0 {
                turn().await;
            }
        }
        let (size, is_zero, room) = decoding.finish();
        let reply: JsReply = js_sys::Object::new().unchecked_into();
        reply.set_read(size as f64);
        // Without data the room returns, too.
        reply.set_bytes(room.subarray(0, if is_zero { 0 } else { room.length() }));
        Ok(reply)
    }

    /// Returns the files for `job`, with the bytes that were brought.
    fn files_of(&self, job: &Job, brought: &Array) -> Result<Vec<Rc<dyn Source>>> {
        let mut travelled: Vec<Delivered> = self.files.iter().map(|_| Delivered::default()).collect();
        let mut brought = brought.iter();
        for read in &job.reads {
            let file = usize::from(read.file.0);
            if self.files.get(file).is_some_and(Option::is_none) {
                let missing = || Error::new(ErrorKind::Internal, "A job has come without its bytes");
                travelled[file].push(*read, brought.next().ok_or_else(missing)?.unchecked_into());
            }
        }
        let files = self.files.iter().zip(travelled);
        Ok(files.map(|(file, travelled)| file.clone().unwrap_or_else(|| Rc::new(travelled))).collect())
    }
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

#[wasm_bindgen]
extern "C" {
    /// The reply of a runner: `{ read, written, lost?, placement?, bytes?, brought? }`.
    #[wasm_bindgen(extends = js_sys::Object)]
    pub type JsReply;
    #[wasm_bindgen(method, getter)]
    pub(super) fn read(this: &JsReply) -> f64;
    #[wasm_bindgen(method, setter)]
    fn set_read(this: &JsReply, value: f64);
    #[wasm_bindgen(method, getter)]
    pub(super) fn written(this: &JsReply) -> f64;
    #[wasm_bindgen(method, setter)]
    fn set_written(this: &JsReply, value: f64);
    #[wasm_bindgen(method, getter)]
    pub(super) fn placement(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    fn set_placement(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn lost(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    fn set_lost(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn bytes(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    fn set_bytes(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn brought(this: &JsReply) -> Option<Array>;
    #[wasm_bindgen(method, setter)]
    fn set_brought(this: &JsReply, value: Array);
}
