//! Errors on their way to JavaScript and back: objects with `kind`, `code`, `fields` and `message`.

use crate::error::{Error, ErrorKind};
use crate::fields::{Field, Fields};
use js_sys::{Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        let fields = Object::new();
        for (name, value) in &error.fields {
            set(&fields, name, &value.into());
        }
        let object = Object::new();
        set(&object, "kind", &error.kind.name().into());
        set(&object, "code", &(&*error.code).into());
        set(&object, "fields", &fields);
        set(&object, "message", &error.message.into());
        object.into()
    }
}

impl From<&Field> for JsValue {
    fn from(field: &Field) -> Self {
        match field {
            Field::Text(text) => text.into(),
            Field::Number(number) => (*number as f64).into(),
            Field::Flag(flag) => (*flag).into(),
        }
    }
}

fn set(object: &Object, name: &str, value: &JsValue) {
    // Setting a property of a fresh object cannot fail.
    let _ = Reflect::set(object, &name.into(), value);
}

/// The fields of an error of ours that JavaScript passed on.
fn fields_of(thrown: &JsValue) -> Fields {
    let Some(object) = Reflect::get(thrown, &"fields".into()).ok().and_then(|fields| fields.dyn_into::<Object>().ok())
    else {
        return Fields::new();
    };
    let names = Object::keys(&object);
    let entries = names.iter().filter_map(|name| {
        let value = Reflect::get(&object, &name).ok()?;
        let text = value.as_string().map(Field::Text);
        let number = || value.as_f64().map(|number| Field::Number(number as u64));
        let field = text.or_else(number).or_else(|| value.as_bool().map(Field::Flag))?;
        Some((name.as_string()?.into(), field))
    });
    entries.collect()
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
        let mut error = Error::new(own, message);
        error.code = text(thrown, "code").map_or(error.code, Into::into);
        error.fields = fields_of(thrown);
        return error;
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
