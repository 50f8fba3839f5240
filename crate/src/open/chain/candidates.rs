//! The files that an image may refer to: those that the caller handed over, and those beside it in its container. What was
//! handed over comes first.

use super::companions::Companions;
use super::options::OpenOptions;
use crate::disk::reference::Reference;
use crate::error::Result;
use crate::io::source::FileId;

/// The files that an image may refer to, and which of them are referred to.
pub(super) struct Candidates<'a> {
    given: Companions<'a>,
    beside: Companions<'a>,
    /// How many were handed over.
    count: u16,
    /// The name of the image in its container.
    member: &'a str,
}

impl<'a> Candidates<'a> {
    /// The companions in `options`, and those in `beside`, whose name is that of the image in its container.
    pub fn new(options: &'a OpenOptions, beside: &'a OpenOptions) -> Self {
        let count = options.companions.len() as u16;
        let member = beside.name.as_deref().unwrap_or_default();
        Self { given: Companions::new(options), beside: Companions::new(beside), count, member }
    }

    /// The name of a file, for messages.
    pub fn name(&self, id: FileId) -> &str {
        if id.0 <= self.count { self.given.name(id) } else { self.beside.name(FileId(id.0 - self.count)) }
    }

    /// As [`Companions::find`].
    pub fn find(&mut self, reference: &Reference, above: &[&str]) -> Result<Option<FileId>> {
        if let Some(found) = self.given.find(reference, above)? {
            return Ok(Some(found));
        }
        if self.beside.is_empty() {
            return Ok(None);
        }
        let mut in_container = above.to_vec();
        if let Some(image) = in_container.first_mut() {
            *image = self.member;
        }
        let found = self.beside.find(reference, &in_container)?;
        Ok(found.map(|id| FileId(id.0 + self.count)))
    }

    /// The files that nothing refers to so far.
    pub fn free(&self) -> Vec<FileId> {
        let beside = self.beside.free().into_iter().map(|id| FileId(id.0 + self.count));
        self.given.free().into_iter().chain(beside).collect()
    }

    /// Marks `id`, which was found by its content, as referred to.
    pub fn take(&mut self, id: FileId) {
        if id.0 <= self.count { self.given.take(id) } else { self.beside.take(FileId(id.0 - self.count)) }
    }

    /// The names of the files that were handed over and that nothing refers to.
    pub fn unused(&self) -> Vec<String> {
        self.given.unused()
    }
}
