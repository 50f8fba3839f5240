//! Parts of a compressed file, which are sent to the workers of the `workers` engine. In a worker, neither a part nor its data is ever a
//! whole in wasm memory, which would not shrink.

use super::executor::SpareArrays;
use crate::container::part::{ContainerNumber, DecodedPart, PartBytes, PartDecoder, PartRoom, SentPart};
use crate::error::{ErrorKind, Result};
use crate::io::stream::ByteStream;
use crate::js::bytes::release;
use crate::js::errors::caught;
use crate::js::task::{JsReply, Task, message};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Array, ArrayBuffer, ArrayBufferOptions, Function, Promise, Uint8Array};
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
    /// Sends parts of a stream to `workers` workers by `dispatch`, as [`Workers`](super::executor::Workers) sends jobs. The memory of a
    /// part is used again for a later part: most have about the same size.
    pub(super) fn of_stream(dispatch: Function, workers: usize) -> Self {
        Self { dispatch, workers, spares: Some(Rc::default()) }
    }

    /// Sends the blocks of a file that is read in place. A cache keeps their data; then their memory is freed.
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
            let bytes = Box::new(Received { data: reply.bytes(), spares: self.spares });
            Ok(DecodedPart { facts: reply.report_as()?, bytes })
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

/// The pieces of a part, which are freed when they have been read.
pub(super) struct BroughtPart {
    pieces: Array,
    /// The number of the piece that is being read, and how much of it was, in bytes.
    number: u32,
    taken: u32,
}

impl BroughtPart {
    pub(super) fn new(pieces: Array) -> Self {
        Self { pieces, number: 0, taken: 0 }
    }

    fn take(&mut self, buf: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buf.len() && self.number < self.pieces.length() {
            let piece: Uint8Array = self.pieces.get(self.number).unchecked_into();
            let end = piece.length().min(self.taken + (buf.len() - done) as u32);
            let bytes = piece.subarray(self.taken, end);
            let len = bytes.length() as usize;
            bytes.copy_to(&mut buf[done..done + len]);
            done += len;
            self.taken = end;
            if end == piece.length() {
                release(&piece.buffer());
                (self.number, self.taken) = (self.number + 1, 0);
            }
        }
        done
    }
}

impl ByteStream for BroughtPart {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        ready(Ok(self.take(buf))).boxed_local()
    }

    fn file_position(&self) -> u64 {
        0
    }
}

impl PartRoom for Uint8Array {
    fn resize(&mut self, len: usize) -> Result<()> {
        // A resizable buffer is mapped by the system: an allocator may keep the memory of others when they are freed.
        let buffer = ArrayBuffer::new_with_options(len, &ArrayBufferOptions::new(len));
        let larger = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len as u32);
        larger.set(self, 0);
        release(&self.buffer());
        *self = larger;
        Ok(())
    }

    fn len(&self) -> usize {
        self.length() as usize
    }

    fn zero(&mut self, len: usize) {
        self.fill(0, 0, len as u32);
    }

    fn put(&mut self, start: usize, bytes: &[u8]) {
        self.subarray(start as u32, (start + bytes.len()) as u32).copy_from(bytes);
    }
}
