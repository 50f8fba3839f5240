//! Converts results of targets.

use super::errors::caught;
use crate::error::{Error, ErrorKind, Result};
use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// Converts a value that a target threw or rejected with.
pub(super) fn failed(thrown: JsValue) -> Error {
    caught(&thrown, ErrorKind::Target, "write the output")
}

/// Awaits an operation of a target.
pub(super) async fn settled(begun: std::result::Result<Promise, JsValue>) -> Result<()> {
    JsFuture::from(begun.map_err(failed)?).await.map(drop).map_err(failed)
}
