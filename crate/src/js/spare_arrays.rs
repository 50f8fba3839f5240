//! Arrays that travel to workers and back.

use super::bytes::release;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

/// The size of a new array is a multiple of this, in bytes: the next data may be a little longer.
const UNIT: u32 = 1 << 20;
/// The most arrays that are kept.
const SPARES: usize = 4;

/// Arrays that have come back. They are filled again: memory that is new to the process takes longer than a copy.
#[derive(Default)]
pub(super) struct SpareArrays(RefCell<Vec<ArrayBuffer>>);

impl SpareArrays {
    /// Returns an array with `bytes`.
    pub(super) fn filled(&self, bytes: &[u8]) -> Uint8Array {
        let len = bytes.len() as u32;
        let buffer = self.take(len).unwrap_or_else(|| ArrayBuffer::new(len.next_multiple_of(UNIT)));
        let array = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len);
        array.copy_from(bytes);
        array
    }

    /// Takes a spare of at least `len` bytes. Without one, frees a smaller one.
    fn take(&self, len: u32) -> Option<ArrayBuffer> {
        let mut spares = self.0.borrow_mut();
        let fitting = spares.iter().position(|spare| spare.byte_length() >= len);
        if fitting.is_none()
            && let Some(small) = spares.pop()
        {
            release(&small);
        }
        fitting.map(|at| spares.swap_remove(at))
    }

    /// Takes back the arrays `sent` that a worker has `returned`. Frees those that are too many, and what it returned for ranges.
    pub(super) fn take_back(&self, sent: &Array, returned: &Array) {
        for (sent, returned) in sent.iter().zip(returned.iter()) {
            let buffer = returned.unchecked_into::<Uint8Array>().buffer();
            let mut spares = self.0.borrow_mut();
            match sent.is_instance_of::<Uint8Array>() && spares.len() < SPARES {
                true => spares.push(buffer),
                false => release(&buffer),
            }
        }
    }
}
