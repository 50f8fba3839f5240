//! The wasm of the `workers` engine, with the memory of one instance: coordinators, which open, read and convert images, and pool
//! workers, which run jobs.

mod comparison;
mod conversion;
mod disk_hasher;
mod executor;
mod exports;
mod map;
mod open_spec;
mod output_spec;
mod part_workers;
mod runner;
mod sources;
mod targets;
mod writable;

use crate::convert::Cancel;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Cancels the operation that it was passed to: a conversion, a read, a step of a map.
#[wasm_bindgen]
#[derive(Default)]
pub struct CancelHandle(Rc<Cancel>);

#[wasm_bindgen]
impl CancelHandle {
    /// Creates a handle for one operation.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the operation, which then fails with `cancelled` at once.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
