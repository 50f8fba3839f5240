//! XML, by quick-xml. References to entities of a document type are errors: they are never expanded.

mod element;
mod tags;

pub(crate) use element::{Element, root_of};
pub(crate) use tags::{Tag, Tags};
