//! Bindings to browsers and Node: all code that touches JavaScript. Exports are for `worker/` only, which builds the
//! public API on them.

mod allocations;
mod blob;
#[cfg(not(feature = "threads"))]
mod brought_part;
mod bytes;
mod caller_source;
mod caller_stream;
#[cfg(not(feature = "threads"))]
mod delivered;
mod errors;
mod exports;
#[cfg(not(feature = "threads"))]
mod handle;
mod modules;
mod object;
mod open_spec;
mod output_spec;
#[cfg(not(feature = "threads"))]
mod part_workers;
#[cfg(not(feature = "threads"))]
mod runner;
#[cfg(not(feature = "threads"))]
mod spare_arrays;
mod sync_handle;
mod target_failure;
mod targets;
#[cfg(feature = "threads")]
mod threads;
#[cfg(not(feature = "threads"))]
mod turn;
mod unlock;
#[cfg(not(feature = "threads"))]
mod workers;
mod writable;

// Linked for its export `initThreadPool`.
#[cfg(feature = "threads")]
use wasm_bindgen_rayon as _;

use crate::io::source::Source;
use crate::open::Input;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};

/// Makes a source of a `Blob`, an object with `fetch`, or an object with `read`.
fn source(value: JsValue) -> Rc<dyn Source> {
    let object = match value.dyn_into::<web_sys::Blob>() {
        Ok(blob) => return Rc::new(blob::BlobSource::new(blob)),
        Err(object) => object,
    };
    match caller_source::CallerSource::new(object) {
        Ok(source) => Rc::new(source),
        Err(object) => Rc::new(object::ObjectSource::new(object)),
    }
}

/// Makes the input of an image: a stream of an object with `next`, otherwise a source.
fn input(value: JsValue) -> Input {
    match caller_stream::CallerStream::new(value) {
        Ok(stream) => Input::Stream(Box::new(stream)),
        Err(value) => Input::File(source(value)),
    }
}
