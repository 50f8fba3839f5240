//! Creates a pool worker's handle to a target from a JavaScript value.

use super::object::{JsHandle, write};
use super::targets::{field, unknown};
use crate::error::Result;
use crate::io::target::{Run, TargetHandle};
use crate::js::bytes::JsBytes;
use crate::js::sync_handle::SyncHandle;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use wasm_bindgen::{JsCast, JsValue};

/// Creates a handle from `{ handle }` or `{ object }`.
pub(super) fn handle<B: JsBytes + 'static>(value: &JsValue) -> Result<Box<dyn TargetHandle<B>>> {
    if let Some(handle) = field(value, "handle") {
        return Ok(Box::new(SyncHandle::new(handle.unchecked_into())));
    }
    let object = field(value, "object").ok_or_else(unknown)?;
    Ok(Box::new(ObjectHandle(object.unchecked_into())))
}

struct ObjectHandle(JsHandle);

impl<B: JsBytes> TargetHandle<B> for ObjectHandle {
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        write(&self.0, bytes, runs).boxed_local()
    }
}
