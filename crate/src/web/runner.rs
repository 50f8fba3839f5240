//! A worker of the `workers` engine: runs jobs with a memory of its own and parses no metadata.

use crate::convert::{Buffers, Decoder, Job, Loaded, Outcome};
use crate::error::{Error, ErrorKind};
use crate::extras::{Ciphers, Keys};
use crate::sink::Sink;
use crate::source::Source;
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use zeroize::Zeroizing;

/// One conversion's part of a pool worker.
#[wasm_bindgen]
pub struct Runner {
    files: Vec<Rc<dyn Source>>,
    ciphers: Ciphers,
    sink: Option<Box<dyn Sink<Vec<u8>>>>,
    decoder: RefCell<Decoder>,
    /// Kept from job to job: inputs are read ahead, the output is used by one job at a time.
    inputs: RefCell<Vec<Vec<u8>>>,
    output: RefCell<Vec<u8>>,
}

#[wasm_bindgen]
impl Runner {
    /// Reads from `files`, decrypts with `keys`, and writes to `sink`, or hands its output over where
    /// there is none.
    #[wasm_bindgen(constructor)]
    pub fn new(files: &Array, keys: Option<Vec<u8>>, sink: JsValue) -> std::result::Result<Runner, JsValue> {
        let sink = if sink.is_undefined() { None } else { Some(super::sink(&sink)?) };
        let keys = keys.map(Zeroizing::new).map(|bytes| Keys::from_bytes(&bytes)).transpose()?.unwrap_or_default();
        Ok(Self {
            files: files.iter().map(super::source).collect(),
            ciphers: Ciphers::new(&keys)?,
            sink,
            decoder: RefCell::default(),
            inputs: RefCell::default(),
            output: RefCell::default(),
        })
    }

    /// Runs a job.
    pub async fn run(&self, job: Vec<u8>) -> std::result::Result<JsReply, JsValue> {
        let job: Job = postcard::from_bytes(&job).map_err(internal)?;
        let mut buffers = Buffers { input: self.inputs.borrow_mut().pop().unwrap_or_default(), output: Vec::new() };
        let (loaded, read) = job.read(&self.files, &mut buffers).await?;
        let Outcome { runs, lost } = match loaded {
            Loaded::Input => {
                // Only now: while one job waits for its bytes, another one has the output buffer.
                buffers.output = self.output.take();
                let outcome = self.decoder.borrow_mut().decode(&job, &mut buffers, &self.ciphers)?;
                self.inputs.borrow_mut().push(buffers.input);
                outcome
            }
            Loaded::Output => Outcome::of_direct(&job, &buffers.output),
        };
        let output = buffers.output;
        let reply: JsReply = js_sys::Object::new().unchecked_into();
        reply.set_read(read as f64);
        reply.set_written(runs.iter().map(|run| run.len as f64).sum());
        if !lost.is_empty() {
            reply.set_lost(Uint8Array::from(&postcard::to_allocvec(&lost).map_err(internal)?[..]));
        }
        match &self.sink {
            Some(sink) => sink.write(&output, &runs).await?,
            None if runs.is_empty() => {}
            None => {
                reply.set_runs(Uint8Array::from(&postcard::to_allocvec(&runs).map_err(internal)?[..]));
                reply.set_bytes(Uint8Array::from(&output[..]));
            }
        }
        match loaded {
            Loaded::Input => drop(self.output.replace(output)),
            Loaded::Output => self.inputs.borrow_mut().push(output),
        }
        Ok(reply)
    }
}

pub(super) fn internal(cause: postcard::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("A message between workers could not be read: {cause}"))
}

#[wasm_bindgen]
extern "C" {
    /// What a runner answers: `{ read, written, lost?, runs?, bytes? }`.
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
    pub(super) fn runs(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    fn set_runs(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn lost(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    fn set_lost(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn bytes(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    fn set_bytes(this: &JsReply, value: Uint8Array);
}
