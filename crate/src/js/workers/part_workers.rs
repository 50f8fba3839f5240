//! Sends the parts of a compressed file to the workers of the `workers` engine.

use super::spare_arrays::SpareArrays;
use crate::container::part::{ContainerNumber, DecodedPart, PartBytes, PartDecoder};
use crate::js::task::{JsReply, Task, message};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Array, Function, Promise, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

pub(super) struct PartWorkers {
    dispatch: Function,
    workers: usize,
    /// Memory of earlier parts.
    spares: Rc<SpareArrays>,
}

impl PartWorkers {
    /// Sends parts to `workers` workers by `dispatch`, as `Workers` does jobs.
    pub(super) fn new(dispatch: Function, workers: usize) -> Self {
        Self { dispatch, workers, spares: Rc::default() }
    }

    fn send(&self, container: ContainerNumber, part: &[u8]) -> Option<JsFuture> {
        let (part, room) = (Uint8Array::from(part), self.spares.take(0));
        let task = message(&Task::DecodePart(container, room.is_some())).ok()?;
        let travelling = match room {
            Some(room) => Array::of2(&Uint8Array::new(&room), &part),
            None => Array::of1(&part),
        };
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
        let (sent, spares) = (self.send(container, &part), self.spares.clone());
        async move {
            let reply: JsReply = sent?.await.ok()?.unchecked_into();
            Some(DecodedPart { size: reply.read() as u64, bytes: Box::new(Received { data: reply.bytes()?, spares }) })
        }
        .boxed_local()
    }
}

/// The data of a part, from a worker.
struct Received {
    data: Uint8Array,
    spares: Rc<SpareArrays>,
}

impl PartBytes for Received {
    fn copy_to(&self, start: usize, buf: &mut [u8]) {
        match self.data.length() {
            0 => buf.fill(0),
            _ => self.data.subarray(start as u32, (start + buf.len()) as u32).copy_to(buf),
        }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.spares.keep(self.data.buffer());
    }
}
