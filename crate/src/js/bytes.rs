//! Views of buffers for JavaScript.

use crate::io::target::OutputBytes;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use web_sys::{MessageChannel, MessagePort};

thread_local! {
    /// A port whose other end is closed.
    static NOWHERE: Option<MessagePort> = MessageChannel::new().ok().map(|channel| {
        channel.port2().close();
        channel.port1()
    });
}

/// Frees the memory of `buffer` now, by transferring it to a closed port: the garbage collector lets 64 MiB accumulate
/// in every worker first.
pub(super) fn release(buffer: &JsValue) {
    // If this fails, the garbage collector frees it later.
    NOWHERE.with(|port| {
        port.as_ref().map(|port| port.post_message_with_transferable(&JsValue::NULL, &js_sys::Array::of1(buffer)))
    });
}

/// A buffer whose parts can be passed to JavaScript.
pub(super) trait JsBytes {
    /// Returns a view of `len` bytes from `start`, for a synchronous call only: it may be a view of wasm memory, which
    /// moves when it grows.
    fn view(&self, start: usize, len: usize) -> Uint8Array;

    /// Fills `target` with the bytes from `start`.
    fn copy_to(&self, start: usize, target: &Uint8Array);
}

/// Returns a view of `bytes` for a synchronous call that fills them.
pub(super) fn view_mut(bytes: &mut [u8]) -> Uint8Array {
    view(bytes.len(), || {
        // SAFETY: the bytes are borrowed as mutable, and by the contract above the view is used before
        // anything can allocate or free.
        #[allow(unsafe_code)]
        unsafe {
            Uint8Array::view_mut_raw(bytes.as_mut_ptr(), bytes.len())
        }
    })
}

/// Returns the view of `len` bytes that `make` creates.
fn view(len: usize, mut make: impl FnMut() -> Uint8Array) -> Uint8Array {
    let first = make();
    // Keeping a reference to the view may itself have grown the memory, which detaches the view; the second attempt
    // then finds room.
    if first.length() as usize == len { first } else { make() }
}

impl JsBytes for Vec<u8> {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        let bytes = &self[start..start + len];
        view(len, || {
            // SAFETY: the slice is borrowed from a live buffer, and by this trait's contract the view is
            // used before anything can allocate or free.
            #[allow(unsafe_code)]
            unsafe {
                Uint8Array::view(bytes)
            }
        })
    }

    fn copy_to(&self, start: usize, target: &Uint8Array) {
        target.copy_from(&self[start..start + target.length() as usize]);
    }
}

/// Bytes from another worker.
impl JsBytes for Uint8Array {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        self.subarray(start as u32, (start + len) as u32)
    }

    fn copy_to(&self, start: usize, target: &Uint8Array) {
        target.set(&self.view(start, target.length() as usize), 0);
    }
}

impl OutputBytes for Uint8Array {
    fn copy(&self, start: usize, buf: &mut [u8]) {
        self.subarray(start as u32, (start + buf.len()) as u32).copy_to(buf);
    }
}
