//! Sends the parts of a compressed file to the workers of the `workers` engine.

use super::spare_arrays::SpareArrays;
use crate::container::part::{ContainerNumber, DecodedPart, PartBytes, PartDecoder, SentPart};
use crate::error::{ErrorKind, Result};
use crate::js::bytes::release;
use crate::js::errors::caught;
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
    /// Memory of earlier parts; `None` frees it.
    spares: Option<Rc<SpareArrays>>,
}

impl PartWorkers {
    /// Sends parts to `workers` workers by `dispatch`, as `Workers` does jobs. Their memory is used again: for a stream, whose parts have
    /// about one size.
    pub(super) fn of_stream(dispatch: Function, workers: usize) -> Self {
        Self { dispatch, workers, spares: Some(Rc::default()) }
    }

    /// Likewise for the blocks of a file that is read in place, which are kept. Their memory is freed after that.
    pub(super) fn of_blocks(dispatch: Function, workers: usize) -> Self {
        Self { dispatch, workers, spares: None }
    }
}

impl PartDecoder for PartWorkers {
    /// A worker has jobs between its parts: with one part more than workers, some wait for the next part.
    fn depth(&self) -> usize {
        2 * self.workers + 2
    }

    fn begin(&self) -> Box<dyn SentPart> {
        Box::new(Sent { dispatch: self.dispatch.clone(), spares: self.spares.clone(), pieces: Array::new() })
    }
}

/// A part that is sent to a worker, in pieces.
struct Sent {
    dispatch: Function,
    spares: Option<Rc<SpareArrays>>,
    pieces: Array,
}

impl Sent {
    fn send(&self, container: ContainerNumber) -> Result<JsFuture> {
        let room = self.spares.as_ref().and_then(|spares| spares.take(0));
        let task = message(&Task::DecodePart(container, room.is_some()))?;
        if let Some(room) = room {
            self.pieces.unshift(&Uint8Array::new(&room));
        }
        let sent = self.dispatch.call2(&JsValue::NULL, &Uint8Array::from(&task[..]), &self.pieces);
        Ok(JsFuture::from(sent.map_err(failed)?.unchecked_into::<Promise>()))
    }
}

fn failed(thrown: JsValue) -> crate::error::Error {
    caught(&thrown, ErrorKind::Internal, "decompress a part of the file")
}

impl SentPart for Sent {
    fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.pieces.push(&Uint8Array::from(bytes));
        Ok(())
    }

    fn decode(self: Box<Self>, container: ContainerNumber) -> LocalBoxFuture<'static, Result<DecodedPart>> {
        let sent = self.send(container);
        async move {
            let reply: JsReply = sent?.await.map_err(failed)?.unchecked_into();
            let data = reply.bytes().unwrap_or_default();
            Ok(DecodedPart { size: reply.read() as u64, bytes: Box::new(Received { data, spares: self.spares }) })
        }
        .boxed_local()
    }
}

/// The data of a part, from a worker.
struct Received {
    data: Uint8Array,
    spares: Option<Rc<SpareArrays>>,
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
        match &self.spares {
            Some(spares) => spares.keep(self.data.buffer()),
            None => release(&self.data.buffer()),
        }
    }
}
