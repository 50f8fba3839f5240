//! Bindings to browsers and Node: all code that touches JavaScript. Exports are for `worker/` only, which builds the
//! public API on them. Each engine has its own wasm.

mod allocations;
mod bytes;
mod delivered;
mod errors;
#[cfg(feature = "threads")]
mod file_bytes;
mod modules;
mod sync_handle;
mod target_failure;
mod task;
#[cfg(feature = "threads")]
mod threads;
#[cfg(not(feature = "threads"))]
mod workers;
