//! Counts allocations: the allocator has one lock for all threads, so a loop that allocates for every cluster would be
//! serialised. `e2e/node/counts.spec.ts` asserts that there is no such loop.

#![expect(unsafe_code, reason = "an allocator is unsafe by its contract")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU32, Ordering};
use wasm_bindgen::prelude::*;

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
