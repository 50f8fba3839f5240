//! Sends the parts of a compressed file to the workers of the `workers` engine.

use super::bytes::release;
use super::runner::{JsReply, Task, message};
use super::spare_arrays::SpareArrays;
use crate::container::part::{ContainerNumber, DecodedPart, PartDecoder};
use crate::io::passed::{HeldPart, PartBytes};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Array, Function, Promise, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

pub(super) struct PartWorkers {
    dispatch: Function,
    workers: usize,
    spares: Rc<SpareArrays>,
}

impl PartWorkers {
    /// Sends parts to `workers` workers by `dispatch`, as `Workers` does jobs.
    pub(super) fn new(dispatch: Function, workers: usize) -> Self {
        Self { dispatch, workers, spares: Rc::default() }
    }
}

/// Sends `task` to `worker`, or to any, by `dispatch`. Returns its reply; `None` if that fails.
fn send(
    dispatch: &Function,
    task: &Task,
    travelling: &Array,
    worker: Option<u32>,
) -> Option<impl Future<Output = Option<JsReply>> + use<>> {
    let task = Uint8Array::from(&message(task).ok()?[..]);
    let sent = dispatch.call3(&JsValue::NULL, &task, travelling, &worker.into()).ok()?;
    let reply = JsFuture::from(sent.unchecked_into::<Promise>());
    Some(async { Some(reply.await.ok()?.unchecked_into()) })
}

impl PartDecoder for PartWorkers {
    /// A worker has jobs between its parts: with one part more than workers, some wait for the next part.
    fn depth(&self) -> usize {
        2 * self.workers + 2
    }

    fn decode(
        &self,
        container: ContainerNumber,
        part: Vec<u8>,
        pass: bool,
    ) -> LocalBoxFuture<'static, Option<DecodedPart>> {
        let task = Task::DecodePart { container, hold: pass };
        let travelling = Array::of1(&self.spares.filled(&part));
        let sent = send(&self.dispatch, &task, &travelling, None);
        let (dispatch, spares) = (self.dispatch.clone(), self.spares.clone());
        async move {
            let reply = sent?.await?;
            spares.take_back(&travelling, &reply.brought().unwrap_or_default());
            let bytes: Option<Rc<dyn PartBytes>> = match (reply.held(), reply.bytes()) {
                (Some(number), _) => {
                    let part = HeldPart { worker: reply.worker()?, number };
                    Some(Rc::new(Held { dispatch, part, rest: RefCell::default() }))
                }
                (None, Some(bytes)) if bytes.length() > 0 => Some(Rc::new(Received { bytes, start: 0 })),
                (None, _) => None,
            };
            Some(DecodedPart { size: reply.read() as u64, bytes })
        }
        .boxed_local()
    }
}

/// The data of a part from byte `start` on, from a worker.
struct Received {
    bytes: Uint8Array,
    start: usize,
}

impl Received {
    fn copy_to(&self, start: usize, buf: &mut [u8]) {
        let start = start - self.start;
        self.bytes.subarray(start as u32, (start + buf.len()) as u32).copy_to(buf);
    }
}

impl PartBytes for Received {
    fn read<'a>(&'a self, start: usize, buf: &'a mut [u8]) -> LocalBoxFuture<'a, bool> {
        self.copy_to(start, buf);
        ready(true).boxed_local()
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        release(&self.bytes.buffer());
    }
}

/// The data of a part that a worker holds.
struct Held {
    dispatch: Function,
    part: HeldPart,
    /// What of it was fetched.
    rest: RefCell<Option<Received>>,
}

impl Held {
    /// Fetches the bytes from `start` on.
    async fn fetch(&self, start: usize) -> Option<Received> {
        let HeldPart { worker, number } = self.part;
        let reply = send(&self.dispatch, &Task::FetchPart { number, start }, &Array::new(), Some(worker))?.await?;
        Some(Received { bytes: reply.bytes()?, start })
    }
}

impl PartBytes for Held {
    fn read<'a>(&'a self, start: usize, buf: &'a mut [u8]) -> LocalBoxFuture<'a, bool> {
        async move {
            let is_fetched = self.rest.borrow().is_some();
            if !is_fetched {
                let Some(rest) = self.fetch(start).await else { return false };
                self.rest.replace(Some(rest));
            }
            if let Some(rest) = &*self.rest.borrow() {
                rest.copy_to(start, buf);
            }
            true
        }
        .boxed_local()
    }

    fn held(&self) -> Option<HeldPart> {
        Some(self.part)
    }
}
