//! The wasm of the `workers` engine, with the memory of one instance: coordinators, which open, read and convert images, and pool
//! workers, which run jobs.

mod brought_part;
mod caller_stream;
mod executor;
mod exports;
mod handle;
mod object;
mod open_spec;
mod output_spec;
mod part_workers;
mod ranged_source;
mod runner;
mod spare_arrays;
mod targets;
mod turn;
mod unlock;
mod writable;

use crate::io::source::Source;
use crate::open::Input;
use std::rc::Rc;
use wasm_bindgen::JsValue;

/// Makes a source of an object with `begin` or `read`.
fn source(value: JsValue) -> Rc<dyn Source> {
    match ranged_source::RangedSource::new(value) {
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
