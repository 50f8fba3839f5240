//! Candidate files for references: those that the caller handed over take precedence over those in the image's
//! container.

use super::companions::Companions;
use super::open_options::OpenOptions;
use crate::disk::reference::Reference;
use crate::error::Result;
use crate::io::source::FileId;

/// The candidate files, and their use.
pub(crate) struct Candidates<'a> {
    given: Companions<'a>,
    beside: Companions<'a>,
    /// Number of files that were handed over.
    count: u16,
    /// The image's member name in its container.
    member: &'a str,
}

impl<'a> Candidates<'a> {
    /// Combines the companions in `options` with the files in `beside`, whose name is the image's member name.
    pub(super) fn new(options: &'a OpenOptions, beside: &'a OpenOptions) -> Self {
        let count = options.companions.len() as u16;
        let member = beside.name.as_deref().unwrap_or_default();
        Self { given: Companions::new(options), beside: Companions::new(beside), count, member }
    }

    /// The name of the file `id`, for messages.
    pub(crate) fn name(&self, id: FileId) -> &str {
        if id.0 <= self.count { self.given.name(id) } else { self.beside.name(FileId(id.0 - self.count)) }
    }

    /// Like [`Companions::find`].
    pub(super) fn find(&mut self, reference: &Reference, above: &[&str]) -> Result<Option<FileId>> {
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

    /// The files without a reference so far.
    pub(super) fn free(&self) -> Vec<FileId> {
        let beside = self.beside.free().into_iter().map(|id| FileId(id.0 + self.count));
        self.given.free().into_iter().chain(beside).collect()
    }

    /// Marks `id`, which was found by its content, as used.
    pub(super) fn take(&mut self, id: FileId) {
        if id.0 <= self.count { self.given.take(id) } else { self.beside.take(FileId(id.0 - self.count)) }
    }

    /// The names of the files that were handed over but have no reference.
    pub(super) fn unused(&self) -> Vec<String> {
        self.given.unused()
    }
}
