//! Unlocking: from a password to keys, with rests in which the worker answers others.

use super::exports::{CancelHandle, JsResult, OpenImage};
use crate::convert::Cancel;
use crate::error::Result;
use futures_util::FutureExt;
use js_sys::{Function, Promise, Reflect, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use zeroize::Zeroizing;

/// Lets everything else that waits for this worker run.
async fn pause() {
    let wait = Promise::new(&mut |resolve, _| {
        let set_timeout = Reflect::get(&js_sys::global(), &"setTimeout".into()).map(JsCast::unchecked_into::<Function>);
        // Every worker has timers; without one there would be no rest, but also no harm.
        if set_timeout.and_then(|set_timeout| set_timeout.call1(&JsValue::NULL, &resolve)).is_err() {
            let _ = resolve.call0(&JsValue::NULL);
        }
    });
    // It never fails.
    let _ = JsFuture::from(wait).await;
}

async fn rest(cancel: Rc<Cancel>) -> Result<()> {
    pause().await;
    cancel.check()
}

#[wasm_bindgen]
impl OpenImage {
    /// Finds the key of the first encrypted layer that is still locked. `on_progress` is told the share of the work that is
    /// done, 0 to 1.
    pub async fn unlock(
        &self,
        password: Vec<u8>,
        assume: bool,
        on_progress: Function,
        cancel: &CancelHandle,
    ) -> JsResult<()> {
        let password = Zeroizing::new(password);
        let (image, cancel) = (self.image("unlocked")?, cancel.0.clone());
        let rest = move |share: f64| {
            // A listener of our own that throws is a fault there, and no reason to fail here.
            let _ = on_progress.call1(&JsValue::NULL, &share.into());
            rest(cancel.clone()).boxed_local()
        };
        Ok(image.unlock_next(&password, assume, &rest).await?)
    }

    /// The keys that were found, for pool workers; whoever hands them on wipes them.
    pub fn keys(&self) -> JsResult<Uint8Array> {
        let keys = self.image("unlocked").map(|image| image.keys()).unwrap_or_default();
        Ok(Uint8Array::from(&keys.to_bytes()?[..]))
    }
}
