//! What an error or a notice is about, for programs.

use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value of a field. Texts are unchanged: escape them where they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Field {
    /// A name, or another text.
    Text(String),
    /// An offset or a size in bytes, or another number.
    Number(u64),
    /// Whether something is so.
    Flag(bool),
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// Fields by their names in the public API.
pub type Fields = BTreeMap<Cow<'static, str>, Field>;
