//! Counts what the allocator is asked for: it is one lock for all threads, so that a loop which allocates for every
//! cluster would wait for itself. `e2e/node/counts.spec.ts` asserts that none does.

#![expect(unsafe_code, reason = "an allocator is unsafe by its contract")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU32, Ordering};
use wasm_bindgen::prelude::*;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many times memory was asked for since the start, modulo 2^32.
#[wasm_bindgen]
pub fn allocations() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

// Inlined, both allocators would be copied to every place that allocates: 22 KB of wasm.
// SAFETY: all is left to the allocator of the system, with the arguments as they came.
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
