//! A part of a compressed file in a worker: neither it nor its data is ever a whole in wasm memory, which would not shrink.

use crate::container::part::PartRoom;
use crate::error::Result;
use crate::io::stream::ByteStream;
use crate::js::bytes::release;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Array, ArrayBuffer, ArrayBufferOptions, Uint8Array};
use wasm_bindgen::prelude::*;

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
