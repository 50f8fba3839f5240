//! Sends the parts of a compressed file to the workers of the `workers` engine.

use super::bytes::release;
use super::runner::{JsReply, Task, message};
use crate::container::part::{ContainerNumber, DecodedPart, PartBytes, PartDecoder};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Array, Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

pub(super) struct PartWorkers {
    dispatch: Function,
    workers: usize,
}

impl PartWorkers {
    /// Sends parts to `workers` workers by `dispatch`, as `Workers` does jobs.
    pub(super) fn new(dispatch: Function, workers: usize) -> Self {
        Self { dispatch, workers }
    }

    fn send(&self, container: ContainerNumber, part: &[u8]) -> Option<JsFuture> {
        let task = message(&Task::DecodePart(container)).ok()?;
        let travelling = Array::of1(&Uint8Array::from(part));
        let sent = self.dispatch.call2(&JsValue::NULL, &Uint8Array::from(&task[..]), &travelling).ok()?;
        Some(JsFuture::from(sent.unchecked_into::<Promise>()))
    }
}

impl PartDecoder for PartWorkers {
    /// A worker has jobs between its parts: with one part more than workers, some wait for the next part.
    fn depth(&self) -> usize {
        2 * self.workers + 2
    }

    fn decode(&self, container: ContainerNumber, part: Vec<u8>) -> LocalBoxFuture<'static, Option<DecodedPart>> {
        let sent = self.send(container, &part);
        async move {
            let reply: JsReply = sent?.await.ok()?.unchecked_into();
            Some(DecodedPart { size: reply.read() as u64, bytes: Box::new(Received(reply.bytes()?)) })
        }
        .boxed_local()
    }
}

/// The data of a part, from a worker.
struct Received(Uint8Array);

impl PartBytes for Received {
    fn copy_to(&self, start: usize, buf: &mut [u8]) {
        match self.0.length() {
            0 => buf.fill(0),
            _ => self.0.subarray(start as u32, (start + buf.len()) as u32).copy_to(buf),
        }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        release(&self.0.buffer());
    }
}
