//! Machine-readable details of errors and notices.

use crate::offsets::MAX_SIZE;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The value of a field. Text is not escaped: escape it for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Field {
    /// A name or other text.
    Text(String),
    /// An offset or size in bytes, or another number.
    Number(u64),
    /// A boolean.
    Flag(bool),
    /// A list. Each entry has fields.
    List(Vec<Fields>),
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for Field {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Vec<Fields>> for Field {
    fn from(list: Vec<Fields>) -> Self {
        Self::List(list)
    }
}

/// Fields by their names in the public API. There are few, and a list makes smaller wasm than a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(Cow<'static, str>, Field)>);

impl Fields {
    /// Sets the field `name`, replacing any earlier value.
    pub(crate) fn set(&mut self, name: impl Into<Cow<'static, str>>, value: Field) {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value));
    }

    /// Returns the field `name`.
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.iter().find(|&(other, _)| other == name).map(|(_, value)| value)
    }

    /// Iterates over all fields, in the order in which they were last set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

/// Leaves out a number that JavaScript cannot represent: an image can state any.
impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_representable = |field: &Field| !matches!(field, Field::Number(number) if *number > MAX_SIZE);
        serializer.collect_map(self.iter().filter(|(_, field)| is_representable(field)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_javascript_cannot_represent() {
        let mut inner = Fields::default();
        inner.set("size", u64::MAX.into());
        let mut fields = Fields::default();
        fields.set("offset", MAX_SIZE.into());
        fields.set("end", (MAX_SIZE + 1).into());
        fields.set("disks", vec![inner].into());
        assert_eq!(serde_json::to_string(&fields).unwrap(), format!("{{\"offset\":{MAX_SIZE},\"disks\":[{{}}]}}"));
    }
}
