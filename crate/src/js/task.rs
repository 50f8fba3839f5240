//! Messages between coordinators and workers.

use crate::container::part::ContainerNumber;
use crate::convert::Job;
use crate::crypt::Keys;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::zeroed;
use js_sys::{Array, Uint8Array};
use postcard::experimental::serialized_size;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;
use zeroize::Zeroizing;

/// A message to a worker.
#[derive(Serialize, Deserialize)]
pub(super) enum Task {
    Run(Job),
    /// Decodes a part of a compressed file, which travels with the task, in pieces. The second field states whether room for its data
    /// is before them.
    DecodePart(ContainerNumber, bool),
}

/// The keys in a message, which is wiped. Fails with `internal`.
pub(super) fn keys_of(message: Option<Vec<u8>>) -> Result<Keys> {
    Ok(message.map(Zeroizing::new).map(|bytes| Keys::from_bytes(&bytes)).transpose()?.unwrap_or_default())
}

/// Serialises `value` for another worker. Fails with `internal` if memory runs out.
pub(super) fn message(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = zeroed(serialized_size(value).map_err(internal)?)?;
    postcard::to_slice(value, &mut bytes).map_err(internal)?;
    Ok(bytes)
}

pub(super) fn internal(cause: postcard::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("A message between workers could not be read: {cause}"))
}

#[wasm_bindgen]
extern "C" {
    /// The reply of a runner: `{ read, written, lost?, crc?, placement?, bytes?, brought? }`.
    #[wasm_bindgen(extends = js_sys::Object)]
    pub type JsReply;
    #[wasm_bindgen(method, getter)]
    pub(super) fn read(this: &JsReply) -> f64;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_read(this: &JsReply, value: f64);
    #[wasm_bindgen(method, getter)]
    pub(super) fn written(this: &JsReply) -> f64;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_written(this: &JsReply, value: f64);
    #[wasm_bindgen(method, getter)]
    pub(super) fn placement(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_placement(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn lost(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_lost(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter, js_name = largeSectors)]
    pub(super) fn large_sectors(this: &JsReply) -> bool;
    #[wasm_bindgen(method, setter, js_name = largeSectors)]
    pub(super) fn set_large_sectors(this: &JsReply, value: bool);
    #[wasm_bindgen(method, getter)]
    pub(super) fn crc(this: &JsReply) -> Option<f64>;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_crc(this: &JsReply, value: f64);
    #[wasm_bindgen(method, getter)]
    pub(super) fn bytes(this: &JsReply) -> Option<Uint8Array>;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_bytes(this: &JsReply, value: Uint8Array);
    #[wasm_bindgen(method, getter)]
    pub(super) fn brought(this: &JsReply) -> Option<Array>;
    #[wasm_bindgen(method, setter)]
    pub(super) fn set_brought(this: &JsReply, value: Array);
}
