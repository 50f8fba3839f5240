//! A worker of the `workers` engine: runs jobs in a separate memory, without parsing metadata.

use super::part_workers::BroughtPart;
use super::sources::source;
use super::targets::handle as handle_of;
use crate::container::part::{ContainerNumber, PartDecoding};
use crate::convert::{Job, Transcoder};
use crate::error::Result;
use crate::io::source::Source;
use crate::io::target::TargetHandle;
use crate::js::task::{DeliveredBytes, JsReply, Task, execute, files_of, internal, keys_of, reply_of, reply_of_part};
use js_sys::{Array, Promise, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::MessageChannel;

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
        let handle = if handle.is_undefined() { None } else { Some(handle_of(&handle)?) };
        Ok(Self {
            files: files.iter().map(|file| (!file.is_undefined()).then(|| source(file))).collect(),
            transcoder: Transcoder::new(keys_of(keys)?),
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
        let files = files_of(&job, &self.files, brought.iter().map(JsCast::unchecked_into::<Uint8Array>))?;
        let done = execute(&self.transcoder, job, &files, self.handle.as_deref()).await?;
        let reply = reply_of(&done)?;
        let digested = done.digested.map(|(bytes, _)| bytes);
        let output = done.output.map(|(bytes, _)| bytes);
        digested.into_iter().chain(output).for_each(|bytes| self.transcoder.give_output(bytes));
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
        let (facts, is_zero, room) = decoding.finish();
        // The buffer returns even if it has no data.
        reply_of_part(facts, room.subarray(0, if is_zero { 0 } else { room.length() }))
    }
}

impl DeliveredBytes for Uint8Array {
    fn len(&self) -> usize {
        self.length() as usize
    }

    fn copy_to(&self, start: usize, buf: &mut [u8]) {
        self.subarray(start as u32, (start + buf.len()) as u32).copy_to(buf);
    }
}

/// Resolves after the messages that have arrived. A timer would be slower.
async fn turn() {
    let Ok(channel) = MessageChannel::new() else { return };
    let (near, far) = (channel.port1(), channel.port2());
    let arrived = Promise::new(&mut |resolve, _| near.set_onmessage(Some(&resolve)));
    if far.post_message(&JsValue::NULL).is_ok() {
        let _ = JsFuture::from(arrived).await;
    }
    near.close();
}
