//! Lets other messages of this worker be handled.

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::MessageChannel;

/// Resolves after the messages that have arrived. A timer would be slower.
pub(super) async fn turn() {
    let Ok(channel) = MessageChannel::new() else { return };
    let (near, far) = (channel.port1(), channel.port2());
    let arrived = Promise::new(&mut |resolve, _| near.set_onmessage(Some(&resolve)));
    if far.post_message(&JsValue::NULL).is_ok() {
        let _ = JsFuture::from(arrived).await;
    }
    near.close();
}
