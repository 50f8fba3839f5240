//! A part of a compressed file in a worker. It is never a whole in wasm memory, which would not shrink.

use super::bytes::release;
use crate::error::Result;
use crate::io::stream::ByteStream;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

/// The pieces of a part.
pub(super) struct BroughtPart {
    pieces: Array,
    /// Whether pieces are freed when they have been read.
    frees: bool,
    /// The number of the piece that is being read, and how much of it was, in bytes.
    number: u32,
    taken: u32,
}

impl BroughtPart {
    /// The part in `pieces`. If it `frees` them, each is freed when it has been read.
    pub(super) fn new(pieces: Array, frees: bool) -> Self {
        Self { pieces, frees, number: 0, taken: 0 }
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
                if self.frees {
                    release(&piece.buffer());
                }
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
