//! Buffers as JavaScript sees them.

use js_sys::Uint8Array;

/// A buffer whose parts can be handed to JavaScript.
pub(super) trait JsBytes {
    /// `len` bytes from `start`, for a synchronous call only: the view may lie in wasm memory, which
    /// moves when it grows.
    fn view(&self, start: usize, len: usize) -> Uint8Array;

    /// The same bytes in memory of JavaScript's own, not shared with other threads.
    fn keep(&self, start: usize, len: usize) -> Uint8Array;
}

impl JsBytes for Vec<u8> {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        // SAFETY: the slice is borrowed from a live buffer, and by this trait's contract the view is
        // used before anything can allocate or free.
        #[allow(unsafe_code)]
        unsafe {
            Uint8Array::view(&self[start..start + len])
        }
    }

    fn keep(&self, start: usize, len: usize) -> Uint8Array {
        let copy = Uint8Array::new_with_length(len as u32);
        copy.copy_from(&self[start..start + len]);
        copy
    }
}

/// What another worker has handed over.
impl JsBytes for Uint8Array {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        self.subarray(start as u32, (start + len) as u32)
    }

    fn keep(&self, start: usize, len: usize) -> Uint8Array {
        self.view(start, len)
    }
}
