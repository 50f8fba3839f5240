//! The browser and Node: everything that touches JavaScript. What is exported here is called by
//! `worker/` only; people use the API that `worker/` makes of it.

mod allocations;
mod blob;
mod bytes;
mod errors;
mod exports;
mod object;
mod open_spec;
#[cfg(not(feature = "threads"))]
mod runner;
mod sync_handle;
#[cfg(feature = "threads")]
mod threads;
#[cfg(feature = "extras")]
mod unlock;
#[cfg(not(feature = "threads"))]
mod workers;
mod writable;

// Linked in for its export, `initThreadPool`.
#[cfg(feature = "threads")]
use wasm_bindgen_rayon as _;

use crate::error::{Error, ErrorKind};
use crate::sink::Sink;
use crate::source::Source;
use bytes::JsBytes;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};

/// A source out of a `Blob` or an object with `size` and `read`.
fn source(value: JsValue) -> Rc<dyn Source> {
    match value.dyn_into::<web_sys::Blob>() {
        Ok(blob) => Rc::new(blob::BlobSource::new(blob)),
        Err(object) => Rc::new(object::ObjectSource::new(object)),
    }
}

/// A sink out of `{ writable }`, `{ handle }` or `{ object }`.
fn sink<B: JsBytes + 'static>(value: &JsValue) -> Result<Box<dyn Sink<B>>, Error> {
    let field = |name: &str| js_sys::Reflect::get(value, &name.into()).ok().filter(|found| !found.is_undefined());
    if let Some(stream) = field("writable") {
        return Ok(Box::new(writable::WritableSink::new(stream.unchecked_into())));
    }
    if let Some(handle) = field("handle") {
        return Ok(Box::new(sync_handle::SyncHandleSink::new(handle.unchecked_into())));
    }
    if let Some(object) = field("object") {
        return Ok(Box::new(object::ObjectSink::new(object)));
    }
    Err(Error::new(ErrorKind::Internal, "There is no such kind of sink"))
}
