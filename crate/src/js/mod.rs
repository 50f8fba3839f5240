//! Bindings to browsers and Node: all code that touches JavaScript. Exports are for `worker/` only, which builds the
//! public API on them. Each engine has its own wasm.

mod bytes;
mod errors;
mod sync_handle;
mod task;
#[cfg(feature = "threads")]
mod threads;
#[cfg(not(feature = "threads"))]
mod workers;

use crate::error::ErrorKind;
use crate::modules::load_modules_by;
use errors::caught;
use futures_util::FutureExt;
use js_sys::{Function, Promise, Uint8Array};
use std::alloc::{GlobalAlloc, Layout, System};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Sets the function that loads a module: `load(name): Promise<Uint8Array>`.
#[wasm_bindgen(js_name = loadModulesBy)]
pub fn set_loader(load: Function) {
    load_modules_by(Rc::new(move |name| {
        let loading = load.call1(&JsValue::NULL, &name.into());
        async move {
            let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Internal, "load a module");
            let bytes = JsFuture::from(loading.map_err(failed)?.unchecked_into::<Promise>()).await.map_err(failed)?;
            Ok(bytes.unchecked_into::<Uint8Array>().to_vec())
        }
        .boxed_local()
    }));
}

/// Counts allocations: the allocator has one lock for all threads, so a loop that allocates for every cluster would be
/// serialised. `e2e/node/counts.spec.ts` asserts that there is no such loop.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Number of allocations since the start, modulo 2^32.
#[wasm_bindgen]
pub fn allocations() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

// If inlined, both allocators would be copied to every call: 22 KB of wasm.
// SAFETY: every call is forwarded to the system allocator with unchanged arguments.
#[expect(unsafe_code, reason = "an allocator is unsafe by its contract")]
unsafe impl GlobalAlloc for Counting {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline(never)]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}
