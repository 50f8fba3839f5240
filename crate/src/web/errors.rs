//! Errors on their way to JavaScript and back: objects with `kind` and `message`.

use crate::error::{Error, ErrorKind};
use js_sys::Reflect;
use wasm_bindgen::JsValue;

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        let object = js_sys::Object::new();
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&object, &"kind".into(), &error.kind.name().into());
        let _ = Reflect::set(&object, &"message".into(), &error.message.into());
        object.into()
    }
}

fn text(value: &JsValue, name: &str) -> Option<String> {
    Reflect::get(value, &name.into()).ok()?.as_string()
}

/// What was thrown or rejected: one of our own errors as it is, anything else as `kind`.
pub(super) fn caught(thrown: &JsValue, kind: ErrorKind, doing: &str) -> Error {
    let message =
        text(thrown, "message").or_else(|| thrown.as_string()).unwrap_or_else(|| "no reason was given".to_owned());
    if let Some(own) = text(thrown, "kind").and_then(|name| ErrorKind::by_name(&name)) {
        return Error::new(own, message);
    }
    let reason = match text(thrown, "name").as_deref() {
        Some("NotReadableError" | "NotFoundError") if kind == ErrorKind::Source => {
            "the file was changed, moved or removed since it was chosen; choose it again".to_owned()
        }
        Some("NotAllowedError") if kind == ErrorKind::Sink => {
            "the browser no longer allows writing there; choose the place again".to_owned()
        }
        Some("QuotaExceededError") => "the disk or the browser's storage is full; free some space".to_owned(),
        _ => message,
    };
    Error::new(kind, format!("Could not {doing}: {reason}"))
}
