//! Buffers as JavaScript sees them.

use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use web_sys::{MessageChannel, MessagePort};

thread_local! {
    /// The end of a channel whose other end is closed.
    static NOWHERE: Option<MessagePort> = MessageChannel::new().ok().map(|channel| {
        channel.port2().close();
        channel.port1()
    });
}

/// Gives the memory of `buffer` back now, by sending it nowhere: the garbage collector lets 64 MiB gather in every
/// worker before it comes.
pub(super) fn release(buffer: &JsValue) {
    // Where that fails, the garbage collector comes.
    NOWHERE.with(|port| {
        port.as_ref().map(|port| port.post_message_with_transferable(&JsValue::NULL, &js_sys::Array::of1(buffer)))
    });
}

/// A buffer whose parts can be handed to JavaScript.
pub(super) trait JsBytes {
    /// `len` bytes from `start`, for a synchronous call only: the view may lie in wasm memory, which
    /// moves when it grows.
    fn view(&self, start: usize, len: usize) -> Uint8Array;

    /// Copies the bytes from `start` on into `target`, as many as it has room for.
    fn copy_to(&self, start: usize, target: &Uint8Array);
}

/// `bytes` for a synchronous call that fills them.
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

/// The view of `len` bytes that `make` makes.
fn view(len: usize, mut make: impl FnMut() -> Uint8Array) -> Uint8Array {
    let first = make();
    // Keeping a reference to the view may itself have grown the memory, which detaches it; the second
    // one then finds room.
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

/// What another worker has handed over.
impl JsBytes for Uint8Array {
    fn view(&self, start: usize, len: usize) -> Uint8Array {
        self.subarray(start as u32, (start + len) as u32)
    }

    fn copy_to(&self, start: usize, target: &Uint8Array) {
        target.set(&self.view(start, target.length() as usize), 0);
    }
}
