//! Encodings and Unicode normalization by JavaScript.

use js_sys::{JsString, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    type TextDecoder;
    #[wasm_bindgen(constructor, catch)]
    fn new(label: &str, options: &JsValue) -> Result<TextDecoder, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn decode(this: &TextDecoder, bytes: &Uint8Array) -> Result<String, JsValue>;
}

/// See [`crate::decoded`].
pub fn strictly_decoded(label: &str, bytes: &[u8]) -> Option<String> {
    let options = js_sys::Object::new();
    for name in ["fatal", "ignoreBOM"] {
        // Setting a property of a new object cannot fail.
        let _ = js_sys::Reflect::set(&options, &name.into(), &JsValue::TRUE);
    }
    // Copied, since browsers refuse to decode shared memory, which the `threads` build uses.
    TextDecoder::new(label, &options).ok()?.decode(&Uint8Array::from(bytes)).ok()
}

/// See [`crate::folded`].
pub fn normalized(name: &str) -> String {
    JsString::from(name).normalize("NFC").to_lower_case().normalize("NFC").into()
}
