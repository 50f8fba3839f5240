//! Unlocks images with a password, yielding regularly to the event loop.

use super::exports::{CancelHandle, OpenImage};
use crate::convert::Cancel;
use crate::error::Result;
use crate::js::errors::JsResult;
use futures_util::FutureExt;
use js_sys::{Function, Promise, Reflect, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use zeroize::Zeroizing;

/// Lets pending events of this worker run.
async fn pause() {
    let wait = Promise::new(&mut |resolve, _| {
        let set_timeout = Reflect::get(&js_sys::global(), &"setTimeout".into()).map(JsCast::unchecked_into::<Function>);
        // Every worker has timers. Without one there would be no pause, which does no harm.
        if set_timeout.and_then(|set_timeout| set_timeout.call1(&JsValue::NULL, &resolve)).is_err() {
            let _ = resolve.call0(&JsValue::NULL);
        }
    });
    // The promise is never rejected.
    let _ = JsFuture::from(wait).await;
}

async fn rest(cancel: Rc<Cancel>) -> Result<()> {
    pause().await;
    cancel.check()
}

#[wasm_bindgen]
impl OpenImage {
    /// Unlocks the first encrypted layer that has no key yet. Calls `on_progress` with the completed share of the work,
    /// 0 to 1.
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
            // An exception in Decant's own listener must not fail the operation.
            let _ = on_progress.call1(&JsValue::NULL, &share.into());
            rest(cancel.clone()).boxed_local()
        };
        Ok(image.unlock_next(&password, assume, &rest).await?)
    }

    /// Returns the keys found so far, for pool workers. The receiver must wipe them.
    pub fn keys(&self) -> JsResult<Uint8Array> {
        let keys = self.image("unlocked").map(|image| image.keys()).unwrap_or_default();
        Ok(Uint8Array::from(&keys.to_bytes()?[..]))
    }
}
