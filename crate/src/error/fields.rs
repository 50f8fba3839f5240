//! What an error or a notice is about, for programs.

use serde::{Serialize, Serializer};
use std::borrow::Cow;

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

/// Fields by their names in the public API: a few, so a list is smaller in wasm than a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(Cow<'static, str>, Field)>);

impl Fields {
    /// Sets the field `name`.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: Field) {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value));
    }

    /// The field `name`.
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.iter().find(|&(other, _)| other == name).map(|(_, value)| value)
    }

    /// All fields, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
