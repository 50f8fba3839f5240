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

/// Whether reading less at once may succeed where this was thrown: browsers have these for want of memory, too.
pub(super) fn may_be_too_large(thrown: &JsValue) -> bool {
    matches!(text(thrown, "name").as_deref(), Some("NotReadableError" | "RangeError"))
}

/// What was thrown or rejected: one of our own errors as it is, anything else as `kind`.
pub(super) fn caught(thrown: &JsValue, kind: ErrorKind, doing: &str) -> Error {
    let message =
        text(thrown, "message").or_else(|| thrown.as_string()).unwrap_or_else(|| "no reason was given".to_owned());
    if let Some(own) = text(thrown, "kind").and_then(|name| ErrorKind::by_name(&name)) {
        return Error::new(own, message);
    }
    let name = text(thrown, "name");
    let reason = match name.as_deref() {
        // An array that is too large for the memory that is left.
        Some("RangeError") => {
            let message = format!("Could not {doing}: {message}; close other tabs or use fewer workers");
            return Error::new(ErrorKind::Internal, message);
        }
        // Browsers do not say which of these it is.
        Some("NotReadableError" | "NotFoundError") if kind == ErrorKind::Source => {
            "the browser can no longer read the file, which may have been changed, moved or removed since it was \
             chosen; choose it again"
                .to_owned()
        }
        Some("NotAllowedError") if kind == ErrorKind::Sink => {
            "the browser no longer allows writing there; choose the place again".to_owned()
        }
        // Firefox has one of its own for sync handles.
        Some("QuotaExceededError" | "NS_ERROR_FILE_NO_DEVICE_SPACE") => {
            "the disk or the browser's storage is full; free some space".to_owned()
        }
        _ => message,
    };
    Error::new(kind, format!("Could not {doing}: {reason}"))
}
