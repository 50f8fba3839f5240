//! Memory that travels to workers and back.

use crate::js::bytes::release;
use js_sys::{Array, ArrayBuffer, Uint8Array};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

/// The most buffers that are kept.
const SPARES: usize = 4;

/// Buffers that have come back. They are filled again: memory that is new to the process takes longer than a copy.
#[derive(Default)]
pub(super) struct SpareArrays(RefCell<Vec<ArrayBuffer>>);

impl SpareArrays {
    /// Returns an array with `bytes`.
    pub(super) fn filled(&self, bytes: &[u8]) -> Uint8Array {
        let len = bytes.len() as u32;
        let buffer = self.take(len).unwrap_or_else(|| ArrayBuffer::new(len));
        let array = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len);
        array.copy_from(bytes);
        array
    }

    /// Takes a spare of at least `len` bytes. If the next one is smaller, frees it.
    pub(super) fn take(&self, len: u32) -> Option<ArrayBuffer> {
        let spare = self.0.borrow_mut().pop()?;
        if spare.byte_length() < len {
            release(&spare);
            return None;
        }
        Some(spare)
    }

    /// Keeps `buffer`, or frees it if there are enough.
    pub(super) fn keep(&self, buffer: ArrayBuffer) {
        let mut spares = self.0.borrow_mut();
        if spares.len() < SPARES && buffer.byte_length() > 0 { spares.push(buffer) } else { release(&buffer) }
    }

    /// Keeps the arrays `sent` that a worker has `returned`. Frees what it returned for ranges.
    pub(super) fn take_back(&self, sent: &Array, returned: &Array) {
        for (sent, returned) in sent.iter().zip(returned.iter()) {
            let buffer = returned.unchecked_into::<Uint8Array>().buffer();
            if sent.is_instance_of::<Uint8Array>() { self.keep(buffer) } else { release(&buffer) }
        }
    }
}
