//! Sources and sinks that are JavaScript objects, Node's files among them.

use super::bytes::JsBytes;
use super::errors::caught;
use crate::error::{Error, ErrorKind, Result};
use crate::sink::{Run, Sink};
use crate::source::Source;
use crate::units::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// `ObjectSource`: `read` fills the bytes before it returns, and keeps nothing of them; it may ask
    /// with a promise to let others run.
    type JsSource;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsSource) -> f64;
    #[wasm_bindgen(method, catch)]
    fn read(this: &JsSource, offset: f64, bytes: &Uint8Array) -> std::result::Result<Option<Promise>, JsValue>;

    /// `FileSink`: `write` is synchronous and keeps nothing; the others return promises.
    type JsSink;
    #[wasm_bindgen(method, getter)]
    fn dense(this: &JsSink) -> Option<bool>;
    #[wasm_bindgen(method, catch)]
    fn write(this: &JsSink, offset: f64, bytes: &Uint8Array) -> std::result::Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    fn truncate(this: &JsSink, length: f64) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn close(this: &JsSink) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn abort(this: &JsSink) -> std::result::Result<Promise, JsValue>;
}

pub(super) struct ObjectSource {
    object: JsSource,
    size: u64,
}

impl ObjectSource {
    pub fn new(object: JsValue) -> Self {
        let object: JsSource = object.unchecked_into();
        let size = object.size() as u64;
        Self { object, size }
    }

    async fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Source, "read the image");
        let rest = self.object.read(offset as f64, &super::bytes::view_mut(buf)).map_err(failed)?;
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

pub(super) struct ObjectSink {
    object: JsSink,
}

impl ObjectSink {
    pub fn new(object: JsValue) -> Self {
        Self { object: object.unchecked_into() }
    }
}

fn failed(thrown: JsValue) -> Error {
    caught(&thrown, ErrorKind::Sink, "write the output")
}

async fn settled(promise: std::result::Result<Promise, JsValue>) -> Result<()> {
    JsFuture::from(promise.map_err(failed)?).await.map(drop).map_err(failed)
}

impl<B: JsBytes> Sink<B> for ObjectSink {
    fn ordered(&self) -> bool {
        false
    }

    fn dense(&self) -> bool {
        self.object.dense().unwrap_or(false)
    }

    fn set_len(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.object.truncate(len as f64)).boxed_local()
    }

    fn write<'a>(&'a self, bytes: &'a B, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        let write = |run: &Run| self.object.write(run.guest as f64, &bytes.view(run.start, run.len));
        ready(runs.iter().try_for_each(write).map_err(failed)).boxed_local()
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.object.close()).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        settled(self.object.abort()).map(drop).boxed_local()
    }
}
