//! JavaScript objects as sources and targets, including Node's files.

use crate::error::{ErrorKind, Result};
use crate::io::source::Source;
use crate::io::target::{Abilities, Holes, Run, Target, TargetHandle};
use crate::js::bytes::JsBytes;
use crate::js::errors::caught;
use crate::js::target_failure::{failed, settled};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// `ObjectSource`: `read` fills the bytes before it returns, and keeps no reference to them. It may return a
    /// promise, to let other tasks run.
    type JsSource;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsSource) -> f64;
    #[wasm_bindgen(method, catch)]
    fn read(this: &JsSource, offset: f64, bytes: &Uint8Array) -> std::result::Result<Option<Promise>, JsValue>;

    /// `ObjectHandle`: `write` keeps no reference to the bytes after it returns, or after the promise that it may
    /// return to delay the next call.
    pub(super) type JsHandle;
    #[wasm_bindgen(method, catch)]
    fn write(this: &JsHandle, offset: f64, bytes: &Uint8Array) -> std::result::Result<Option<Promise>, JsValue>;

    /// `ObjectTarget`: a handle with abilities, which is also notified of the stages of the output. All methods but
    /// `write` return promises.
    #[wasm_bindgen(extends = JsHandle)]
    type JsTarget;
    #[wasm_bindgen(method, getter)]
    fn ordered(this: &JsTarget) -> Option<bool>;
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

pub(super) struct ObjectSource {
    object: JsSource,
    size: u64,
}

impl ObjectSource {
    pub(super) fn new(object: JsValue) -> Self {
        let object: JsSource = object.unchecked_into();
        let size = object.size() as u64;
        Self { object, size }
    }

    async fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Source, "read the image");
        let rest = self.object.read(offset as f64, &crate::js::bytes::view_mut(buf)).map_err(failed)?;
        if let Some(rest) = rest {
            JsFuture::from(rest).await.map_err(failed)?;
        }
        Ok(())
    }
}

impl Source for ObjectSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.fill(offset.0, buf).boxed_local()
    }
}

/// Writes `runs` of `bytes` by `handle`.
pub(super) async fn write(handle: &JsHandle, bytes: &impl JsBytes, runs: &[Run]) -> Result<()> {
    for run in runs {
        let wait = handle.write(run.offset as f64, &bytes.view(run.start, run.len)).map_err(failed)?;
        if let Some(wait) = wait {
            settled(Ok(wait)).await?;
        }
    }
    Ok(())
}

pub(super) struct ObjectTarget(JsTarget);

impl ObjectTarget {
    pub(super) fn new(object: JsValue) -> Self {
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
        let ordered = self.0.ordered().unwrap_or(false);
        let late_start = if ordered { self.0.late_start().unwrap_or(0.0) as u64 } else { u64::MAX };
        Abilities { ordered, holes, late_start, short_hole }
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
