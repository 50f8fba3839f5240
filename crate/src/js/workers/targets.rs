//! Creates targets from JavaScript values.

use super::object::ObjectTarget;
use super::writable::WritableTarget;
use crate::error::{Error, ErrorKind, Result};
use crate::io::target::Target;
use crate::js::bytes::JsBytes;
use crate::js::sync_handle::SyncHandle;
use js_sys::Reflect;
use wasm_bindgen::{JsCast, JsValue};

pub(super) fn field(value: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(value, &name.into()).ok().filter(|found| !found.is_undefined())
}

pub(super) fn unknown() -> Error {
    Error::new(ErrorKind::Internal, "There is no such kind of target")
}

/// Creates a target from `{ writable }`, `{ handle }` or `{ object }`.
pub(super) fn target<B: JsBytes + 'static>(value: &JsValue) -> Result<Box<dyn Target<B>>> {
    if let Some(stream) = field(value, "writable") {
        return Ok(Box::new(WritableTarget::new(stream.unchecked_into())));
    }
    if let Some(handle) = field(value, "handle") {
        return Ok(Box::new(SyncHandle::new(handle.unchecked_into())));
    }
    let object = field(value, "object").ok_or_else(unknown)?;
    Ok(Box::new(ObjectTarget::new(object)))
}
