//! Modules of WebAssembly that are loaded when they are needed.

use super::errors::caught;
use crate::error::ErrorKind;
use crate::modules::load_modules_by;
use futures_util::FutureExt;
use js_sys::{Function, Promise, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Sets the function that loads a module: `load(name): Promise<Uint8Array>`.
#[wasm_bindgen(js_name = loadModulesBy)]
pub fn set_loader(load: Function) {
    load_modules_by(Rc::new(move |name| {
        let loading = load.call1(&JsValue::NULL, &name.into());
        async move {
            let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Internal, "load a module");
            let bytes = JsFuture::from(loading.map_err(failed)?.unchecked_into::<Promise>()).await.map_err(failed)?;
            Ok(bytes.unchecked_into::<Uint8Array>().to_vec())
        }
        .boxed_local()
    }));
}
