//! The parts of a compressed file that a worker holds until jobs have read them.

use super::bytes::release;
use crate::container::part::PartRoom;
use crate::error::{Error, ErrorKind, Result};
use js_sys::{ArrayBuffer, ArrayBufferOptions, Uint8Array};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// The most memories of earlier parts that are kept: one for the part being decoded, one for the next.
const SPARES: usize = 2;

/// The parts, and the memory of earlier ones: memory that is new to the process takes longer than a copy.
#[derive(Default)]
pub(super) struct HeldParts {
    parts: RefCell<BTreeMap<u32, Held>>,
    spares: RefCell<Vec<Uint8Array>>,
    next: Cell<u32>,
}

struct Held {
    bytes: Uint8Array,
    /// The size of the part in bytes.
    size: usize,
    /// How many of them nobody has read yet.
    left: usize,
}

impl HeldParts {
    /// Returns room for a part.
    pub(super) fn room(&self) -> Room {
        Room { bytes: Uint8Array::default(), spare: self.spares.borrow_mut().pop() }
    }

    /// Holds a part of `size` bytes, at the start of `room`. Returns its number; `None` if it is all zeros.
    pub(super) fn hold(&self, room: Room, size: usize) -> Option<u32> {
        let Room { bytes, spare } = room;
        if let Some(spare) = spare {
            self.keep(spare);
        }
        if bytes.length() == 0 {
            return None;
        }
        let number = self.next.replace(self.next.get() + 1);
        self.parts.borrow_mut().insert(number, Held { bytes, size, left: size });
        Some(number)
    }

    /// Returns a view of `len` bytes of a part from `start`, to be read before [`Self::done`]. Fails with `internal` if it is not
    /// held.
    pub(super) fn view(&self, number: u32, start: usize, len: usize) -> Result<Uint8Array> {
        let parts = self.parts.borrow();
        let Held { bytes, .. } = parts.get(&number).ok_or_else(gone)?;
        Ok(bytes.subarray(start as u32, (start + len) as u32))
    }

    /// Returns a copy of the rest of a part from `start`, which nobody will read again. Fails like [`Self::view`].
    pub(super) fn fetch(&self, number: u32, start: usize) -> Result<Uint8Array> {
        let size = self.parts.borrow().get(&number).ok_or_else(gone)?.size;
        let bytes = self.view(number, start, size - start)?.slice(0, (size - start) as u32);
        self.done(number, size - start);
        Ok(bytes)
    }

    /// States that `len` bytes of a part were read. Reuses its memory when all were.
    pub(super) fn done(&self, number: u32, len: usize) {
        let mut parts = self.parts.borrow_mut();
        let Some(held) = parts.get_mut(&number) else { return };
        held.left -= len;
        if held.left == 0 {
            self.keep(held.bytes.clone());
            parts.remove(&number);
        }
    }

    fn keep(&self, spare: Uint8Array) {
        let mut spares = self.spares.borrow_mut();
        if spares.len() < SPARES { spares.push(spare) } else { release(&spare.buffer()) }
    }
}

impl Drop for HeldParts {
    fn drop(&mut self) {
        let held = self.parts.take().into_values().map(|held| held.bytes);
        held.chain(self.spares.take()).for_each(|bytes| release(&bytes.buffer()));
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Internal, "A decoded part of the disk is gone")
}

/// Room for a part, outside of wasm memory, which would not shrink.
#[derive(Default)]
pub(super) struct Room {
    pub(super) bytes: Uint8Array,
    /// Memory to use, if it is large enough.
    spare: Option<Uint8Array>,
}

impl PartRoom for Room {
    fn resize(&mut self, len: usize) -> Result<()> {
        if self.len() == 0
            && let Some(spare) = self.spare.take_if(|spare| spare.length() as usize >= len)
        {
            self.bytes = spare;
            return Ok(());
        }
        if let Some(small) = self.spare.take() {
            release(&small.buffer());
        }
        // A resizable buffer is mapped by the system: an allocator may keep the memory of others when they are freed.
        let buffer = ArrayBuffer::new_with_options(len, &ArrayBufferOptions::new(len));
        let larger = Uint8Array::new_with_byte_offset_and_length(&buffer, 0, len as u32);
        larger.set(&self.bytes, 0);
        release(&self.bytes.buffer());
        self.bytes = larger;
        Ok(())
    }

    fn len(&self) -> usize {
        self.bytes.length() as usize
    }

    fn zero(&mut self, len: usize) {
        self.bytes.fill(0, 0, len as u32);
    }

    fn put(&mut self, start: usize, bytes: &[u8]) {
        self.bytes.subarray(start as u32, (start + bytes.len()) as u32).copy_from(bytes);
    }
}
