//! Converts errors to and from JavaScript objects with `kind`, `code`, `fields` and `message`.

use crate::error::fields::{Field, Fields};
use crate::error::{Error, ErrorKind, Result};
use js_sys::{Object, Promise, Reflect};
use serde::Serialize;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// The code and the reason of the error for full storage, as in `worker/errors/errors.ts`.
pub(super) const STORAGE_FULL: (&str, &str) =
    ("storage-full", "the disk or the browser's storage is full; free some space, or save another way");

/// The result of a call whose error goes to JavaScript, or comes from there.
pub(super) type JsResult<T> = std::result::Result<T, JsValue>;

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        // Cannot fail: all numbers of an error are representable.
        to_js(&error).unwrap_or_else(|failure| failure)
    }
}

/// Converts a value to plain JavaScript objects; integers become numbers.
pub(super) fn to_js(value: &impl Serialize) -> JsResult<JsValue> {
    Ok(value.serialize(
        &serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(false).serialize_maps_as_objects(true),
    )?)
}

/// The fields of a Decant error that came back from JavaScript.
fn fields_of(thrown: &JsValue) -> Fields {
    let mut fields = Fields::default();
    let Some(object) = Reflect::get(thrown, &"fields".into()).ok().and_then(|found| found.dyn_into::<Object>().ok())
    else {
        return fields;
    };
    for name in Object::keys(&object) {
        let (Ok(value), Some(name)) = (Reflect::get(&object, &name), name.as_string()) else { continue };
        if let Some(field) = field_of(&value) {
            fields.set(name, field);
        }
    }
    fields
}

/// The field of `value`; `None` for a list: no error with one comes back from JavaScript.
fn field_of(value: &JsValue) -> Option<Field> {
    if let Some(text) = value.as_string() {
        return Some(Field::Text(text));
    }
    if let Some(number) = value.as_f64() {
        return Some(Field::Number(number as u64));
    }
    value.as_bool().map(Field::Flag)
}

fn text(value: &JsValue, name: &str) -> Option<String> {
    Reflect::get(value, &name.into()).ok()?.as_string()
}

/// Whether a smaller read may succeed after this exception: browsers also throw these for lack of memory.
#[cfg(feature = "threads")]
pub(super) fn may_be_too_large(thrown: &JsValue) -> bool {
    matches!(text(thrown, "name").as_deref(), Some("NotReadableError" | "RangeError"))
}

/// Converts a thrown or rejected value: Decant's own errors unchanged, anything else to `kind`.
pub(super) fn caught(thrown: &JsValue, kind: ErrorKind, doing: &str) -> Error {
    let message =
        text(thrown, "message").or_else(|| thrown.as_string()).unwrap_or_else(|| "no reason was given".to_owned());
    if let Some(own) = text(thrown, "kind").and_then(|name| ErrorKind::by_name(&name)) {
        let mut error = Error::new(own, message);
        if let Some(code) = text(thrown, "code") {
            error.code = code.into();
        }
        error.fields = fields_of(thrown);
        return error;
    }
    let name = text(thrown, "name");
    let (code, reason) = match (name.as_deref(), kind) {
        // The array is larger than the memory left.
        (Some("RangeError"), _) => {
            let message = format!("Could not {doing}: {message}; close other tabs and programs, or use fewer workers");
            return Error::new(ErrorKind::Internal, message).coded("out-of-memory");
        }
        // Browsers do not distinguish these causes.
        (Some("NotReadableError" | "NotFoundError"), ErrorKind::Source) => (
            "source-unreadable",
            "the browser can no longer read the file, which may have been changed, moved or removed since it was \
             chosen; choose it again",
        ),
        (Some("NotAllowedError"), ErrorKind::Target) => {
            ("writing-refused", "the browser no longer allows writing there; choose the place again")
        }
        (Some("NotFoundError"), ErrorKind::Target) => {
            ("place-gone", "the file or its folder is gone; choose the place again")
        }
        // Firefox throws a custom error for sync handles.
        (Some("QuotaExceededError" | "NS_ERROR_FILE_NO_DEVICE_SPACE"), _) => STORAGE_FULL,
        _ => return Error::new(kind, format!("Could not {doing}: {message}")),
    };
    Error::new(kind, format!("Could not {doing}: {reason}")).coded(code)
}

/// Converts a value that a target threw or rejected with.
pub(super) fn failed(thrown: JsValue) -> Error {
    caught(&thrown, ErrorKind::Target, "write the output")
}

/// Awaits an operation of a target.
pub(super) async fn settled(operation: std::result::Result<Promise, JsValue>) -> Result<()> {
    JsFuture::from(operation.map_err(failed)?).await.map(drop).map_err(failed)
}
