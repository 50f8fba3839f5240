//! Targets of JavaScript: streams, handles and objects, including Node's files.

use super::writable::WritableTarget;
use crate::error::{Error, ErrorKind, Result};
use crate::io::target::{Abilities, Discarding, Holes, Run, Target, TargetHandle};
use crate::js::bytes::JsBytes;
use crate::js::errors::{failed, settled};
use crate::js::sync_handle::SyncHandle;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `ObjectHandle`: `write` keeps no reference to the bytes after it returns, or after the promise that it may
    /// return to delay the next call.
    type JsHandle;
    #[wasm_bindgen(method, catch)]
    fn write(this: &JsHandle, offset: f64, bytes: &Uint8Array) -> std::result::Result<Option<Promise>, JsValue>;

    /// `ObjectTarget`: a handle with abilities, which is also notified of the stages of the output. All methods but
    /// `write` return promises.
    #[wasm_bindgen(extends = JsHandle)]
    type JsTarget;
    #[wasm_bindgen(method, getter)]
    fn ascending(this: &JsTarget) -> Option<bool>;
    #[wasm_bindgen(method, getter)]
    fn holes(this: &JsTarget) -> Option<String>;
    #[wasm_bindgen(method, getter, js_name = lateStart)]
    fn late_start(this: &JsTarget) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = shortHole)]
    fn short_hole(this: &JsTarget) -> Option<f64>;
    #[wasm_bindgen(method, catch)]
    fn open(this: &JsTarget, size: Option<f64>) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn hole(this: &JsTarget, offset: f64, length: f64) -> std::result::Result<Promise, JsValue>;
    /// `undefined` if the object does one write at a time.
    #[wasm_bindgen(method, getter)]
    fn settle(this: &JsTarget) -> Option<Function>;
    #[wasm_bindgen(method, catch)]
    fn close(this: &JsTarget) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn abort(this: &JsTarget) -> std::result::Result<Promise, JsValue>;
}

/// Writes `runs` of `bytes` by `handle`.
async fn write(handle: &JsHandle, bytes: &impl JsBytes, runs: &[Run]) -> Result<()> {
    for run in runs {
        let wait = handle.write(run.offset as f64, &bytes.view(run.start, run.len)).map_err(failed)?;
        if let Some(wait) = wait {
            settled(Ok(wait)).await?;
        }
    }
    Ok(())
}

struct ObjectTarget(JsTarget);

impl ObjectTarget {
    fn new(object: JsValue) -> Self {
        Self(object.unchecked_into())
    }
}

impl<B: JsBytes> TargetHandle<B> for ObjectTarget {
    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        write(&self.0, bytes, runs).boxed_local()
    }
}

impl<B: JsBytes> Target<B> for ObjectTarget {
    fn abilities(&self) -> Abilities {
        let holes = match self.0.holes().as_deref() {
            Some("reported") => Holes::Report,
            Some("filled") => Holes::WriteZeros,
            _ => Holes::Skip,
        };
        let short_hole = self.0.short_hole().unwrap_or(0.0) as u64;
        let ascending = self.0.ascending().unwrap_or(false);
        let late_start = if ascending { self.0.late_start().unwrap_or(0.0) as u64 } else { u64::MAX };
        Abilities { ascending, holes, late_start, short_hole }
    }

    fn open(&self, size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.0.open(size.map(|size| size as f64))).boxed_local()
    }

    fn hole(&self, offset: u64, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.0.hole(offset as f64, len as f64)).boxed_local()
    }

    fn settle(&self) -> LocalBoxFuture<'_, Result<()>> {
        match self.0.settle() {
            Some(settle) => settled(settle.call0(&self.0).map(JsCast::unchecked_into)).boxed_local(),
            None => ready(Ok(())).boxed_local(),
        }
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.0.close()).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        settled(self.0.abort()).map(drop).boxed_local()
    }
}

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

fn field(value: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(value, &name.into()).ok().filter(|found| !found.is_undefined())
}

fn unknown() -> Error {
    Error::new(ErrorKind::Internal, "There is no such kind of target")
}

/// Creates a target from `{ writable }`, `{ handle }` or `{ object }`. `undefined` is one that ignores what it gets.
pub(super) fn target<B: JsBytes + 'static>(value: &JsValue) -> Result<Box<dyn Target<B>>> {
    if value.is_undefined() {
        return Ok(Box::new(Discarding));
    }
    if let Some(stream) = field(value, "writable") {
        return Ok(Box::new(WritableTarget::new(stream.unchecked_into())));
    }
    if let Some(handle) = field(value, "handle") {
        return Ok(Box::new(SyncHandle::new(handle.unchecked_into())));
    }
    let object = field(value, "object").ok_or_else(unknown)?;
    Ok(Box::new(ObjectTarget::new(object)))
}
