//! Format-specific metadata of an image.

use serde::{Serialize, Serializer};

/// Names and values, in display order.
#[derive(Clone, Debug, Default)]
pub struct Details(pub Vec<(&'static str, Value)>);

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (*name, value)))
    }
}

/// A value. Numbers do not exceed 2^53-1.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Value {
    Bool(bool),
    Number(u64),
    /// A string from the image, neither escaped nor shortened.
    Text(String),
    List(Vec<Value>),
    /// Nested names and values.
    Map(Details),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
