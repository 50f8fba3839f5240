//! Finds the file that a reference names, among the files that the caller passed, or else among those in the image's container.
//! Never opens a path.

use super::open_options::{Companion, OpenOptions};
use crate::disk::name_index::{NameIndex, SimilarNames};
use crate::disk::reference::{Reference, Role, base_name, folder_of, resolved};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::FileId;
use decant_text::may_mean;

/// The companions of an image, and which of them references have used.
pub(super) struct Companions<'a> {
    image: &'a str,
    given: &'a [Companion],
    used: Vec<bool>,
    /// Indices of companions by name, path, and base name.
    by_name: NameIndex,
    by_path: NameIndex,
    by_base_name: NameIndex,
    by_similar_name: SimilarNames,
}

impl<'a> Companions<'a> {
    pub(crate) fn new(options: &'a OpenOptions) -> Self {
        let given = &options.companions;
        let by = |key: fn(&str) -> String| NameIndex::new(given.iter().map(|companion| key(companion.stated_name())));
        Self {
            image: options.name.as_deref().unwrap_or("the image"),
            given,
            used: vec![false; given.len()],
            by_name: by(str::to_owned),
            by_path: by(|name| resolved(name, "")),
            by_base_name: by(|name| base_name(name).to_owned()),
            by_similar_name: SimilarNames::new(given.iter().map(|companion| base_name(companion.stated_name()))),
        }
    }

    /// The name of the file `id`, for messages.
    pub(crate) fn name(&self, id: FileId) -> &str {
        match usize::from(id.0) {
            0 => self.image,
            at => match &self.given[at - 1] {
                Companion { name, stands_for: Some(reference), .. } if name.is_empty() => reference,
                companion => &companion.name,
            },
        }
    }

    /// Finds the companion that `reference` names: by path, else by base name, else by base name ignoring Unicode form,
    /// case and encoding. `above`: the names of the layers from the top to the referring one.
    ///
    /// Fails with `usage` if several files match, if the image itself matches, or if a file with a path matches only by
    /// its base name, and one of `above` has that base name, too. Fails with `corrupt` if no companion matches,
    /// but one of `above` does: the reference is circular.
    pub(crate) fn find(&mut self, reference: &Reference, above: &[&str]) -> Result<Option<FileId>> {
        let role = reference.role;
        let paths = &reference.candidates;
        let mut is_unclear = false;
        let mut found = self.with_path(reference, above.last().copied().unwrap_or_default());
        if found.is_empty() {
            (found, is_unclear) = first_of(paths, |path| self.with_base_name(path, above));
        }
        if found.is_empty() {
            (found, is_unclear) = first_of(paths, |path| self.with_similar_name(path, above));
        }
        match found[..] {
            [] if paths.iter().any(|path| above.contains(&&path[..])) => Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "The image is corrupt: its {role} '{}' is the image itself, or an image that is based on it",
                    shown(&reference.name)
                ),
            )),
            [] => Ok(None),
            [at] if self.given[at].is_image => Err(ambiguous(&reference.name, role, "the image itself")),
            [at] if is_unclear && self.given[at].stated_name().contains(['/', '\\']) => {
                let given = shown(self.given[at].stated_name());
                let what = format!("only the file name of '{given}', which an image above it in the chain also has");
                Err(ambiguous(&reference.name, role, &what))
            }
            [at] => {
                self.used[at] = true;
                Ok(Some(FileId(at as u16 + 1)))
            }
            _ => Err(ambiguous(&reference.name, role, "more than one file")),
        }
    }

    /// Returns the files whose name equals the name of `reference` or one of its candidate paths. If there are none,
    /// resolves the candidates against the path `referring`, and returns the files at the first one that has any.
    fn with_path(&self, reference: &Reference, referring: &str) -> Vec<usize> {
        let mut found = self.by_name.find(&reference.name);
        for path in reference.candidates.iter().filter(|path| **path != reference.name) {
            found.extend(self.by_name.find(path));
        }
        if found.is_empty() {
            let mut by_path = reference.candidates.iter().map(|path| self.by_path.find(&resolved(path, referring)));
            found = by_path.find(|found| !found.is_empty()).unwrap_or_default();
        }
        found
    }

    /// Returns the files with the base name of `path`, and whether a layer above has that base name too; if so, files
    /// in use are left out.
    fn with_base_name(&self, path: &str, above: &[&str]) -> (Vec<usize>, bool) {
        let is_in_use = above.iter().any(|name| base_name(name) == base_name(path));
        (self.free_among(self.by_base_name.find(base_name(path)), above, is_in_use), is_in_use)
    }

    /// Like [`Self::with_base_name`], ignoring Unicode form, case and encoding.
    fn with_similar_name(&self, path: &str, above: &[&str]) -> (Vec<usize>, bool) {
        let wanted = base_name(path);
        let is_in_use = above.iter().any(|name| may_mean(wanted, base_name(name)));
        (self.free_among(self.by_similar_name.find(wanted), above, is_in_use), is_in_use)
    }

    /// Returns those of `found` that do not belong to another image and, if the name is in use, are not in use: those in the folder of the
    /// referring image, if any.
    fn free_among(&self, mut found: Vec<usize>, above: &[&str], is_in_use: bool) -> Vec<usize> {
        let referring = above.last().copied().unwrap_or_default();
        let is_anothers = |at: usize| is_in_use && self.used[at] || self.is_beside_namesake(at, referring);
        found.retain(|&at| !is_anothers(at));
        let is_near = |&at: &usize| folder_of(self.given[at].stated_name()) == folder_of(referring);
        let near: Vec<_> = found.iter().copied().filter(is_near).collect();
        if near.is_empty() { found } else { near }
    }

    /// Whether the folder of a file has another image with the name of `referring`, to which the file then belongs: if `a/disk.vmdk` lacks
    /// its extent, that of `b/disk.vmdk` does not serve.
    fn is_beside_namesake(&self, at: usize, referring: &str) -> bool {
        let namesake = format!("{}{}", folder_of(self.given[at].stated_name()), base_name(referring));
        let is_other = |&other: &usize| !self.given[other].is_image && other != at;
        namesake != referring && self.by_path.find(&resolved(&namesake, "")).iter().any(is_other)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The files that no reference has used so far, except the image itself.
    pub(crate) fn free(&self) -> Vec<FileId> {
        let free = self.used.iter().zip(self.given).enumerate().filter(|(_, (used, given))| !**used && !given.is_image);
        free.map(|(at, _)| FileId(at as u16 + 1)).collect()
    }

    /// Marks `id`, which was found by its content, as used.
    pub(crate) fn take(&mut self, id: FileId) {
        self.used[usize::from(id.0) - 1] = true;
    }

    /// The names of the files that no reference has used, except the image itself.
    pub(super) fn unused(&self) -> Vec<String> {
        self.free().into_iter().map(|id| self.given[usize::from(id.0) - 1].name.clone()).collect()
    }
}

/// Returns the first non-empty result of `find` for `paths`.
fn first_of(paths: &[String], find: impl Fn(&str) -> (Vec<usize>, bool)) -> (Vec<usize>, bool) {
    paths.iter().map(|path| find(path)).find(|(found, _)| !found.is_empty()).unwrap_or_default()
}

/// The error for a reference called `name` that matches `what`, so that it is uncertain which file it means.
pub(super) fn ambiguous(name: &str, role: Role, what: &str) -> Error {
    let message = format!("'{}', the image's {role}, matches {what}; give the right file that name", shown(name));
    Error::new(ErrorKind::Usage, message).coded("ambiguous-file").field("file", name)
}

/// All files that references can use: those that the caller passed, and those in the image's container.
pub(crate) struct Candidates<'a> {
    given: Companions<'a>,
    beside: Companions<'a>,
    /// Number of files in `given`. The ids of the files in `beside` follow theirs.
    count: u16,
    /// The image's member name in its container.
    member: &'a str,
}

impl<'a> Candidates<'a> {
    /// Combines the companions of `options` with the files in the container: the companions of `beside`, whose `name` is
    /// the member name of the image.
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

    /// The files that no reference has used so far.
    pub(super) fn free(&self) -> Vec<FileId> {
        let beside = self.beside.free().into_iter().map(|id| FileId(id.0 + self.count));
        self.given.free().into_iter().chain(beside).collect()
    }

    /// Marks `id`, which was found by its content, as used.
    pub(super) fn take(&mut self, id: FileId) {
        if id.0 <= self.count { self.given.take(id) } else { self.beside.take(FileId(id.0 - self.count)) }
    }

    /// The names of the files that the caller passed but no reference has used.
    pub(super) fn unused(&self) -> Vec<String> {
        self.given.unused()
    }
}
