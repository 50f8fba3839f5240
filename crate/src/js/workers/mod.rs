//! The wasm of the `workers` engine, with the memory of one instance: coordinators, which open, read and convert images, and pool
//! workers, which run jobs.

mod blob;
mod brought_part;
mod caller_source;
mod caller_stream;
mod executor;
mod exports;
mod handle;
mod object;
mod open_spec;
mod output_spec;
mod part_workers;
mod runner;
mod spare_arrays;
mod targets;
mod turn;
mod unlock;
mod writable;

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
