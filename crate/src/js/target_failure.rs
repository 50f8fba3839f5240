//! What targets answer, as results.

use super::errors::caught;
use crate::error::{Error, ErrorKind, Result};
use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// What a target has thrown or rejected with.
pub(super) fn failed(thrown: JsValue) -> Error {
    caught(&thrown, ErrorKind::Sink, "write the output")
}

/// Waits for what a target has begun.
pub(super) async fn settled(begun: std::result::Result<Promise, JsValue>) -> Result<()> {
    JsFuture::from(begun.map_err(failed)?).await.map(drop).map_err(failed)
}
