//! Which of the files that the caller handed over is the one that an image names. A name is only ever
//! compared; nothing is opened by it.

use crate::error::{Error, ErrorKind, Result};
use crate::format::Reference;
use crate::image::OpenOptions;
use crate::source::{FileId, Source};
use serde::Serialize;
use std::fmt;
use std::rc::Rc;

/// A file that the caller handed over beside the image.
#[derive(Clone)]
pub struct Companion {
    /// Where its bytes come from.
    pub source: Rc<dyn Source>,
    /// Its own name or path; may be empty.
    pub name: String,
    /// The name under which an image refers to it, where the caller states that.
    pub stands_for: Option<String>,
    /// Whether it is the image itself once more.
    pub is_image: bool,
}

/// What an image needs another file for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Role {
    /// What is read where the image records nothing.
    #[serde(rename = "backing file")]
    BackingFile,
    /// Where the image's data lies.
    #[serde(rename = "data file")]
    DataFile,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BackingFile => "backing file",
            Self::DataFile => "data file",
        })
    }
}

/// The part of a path behind the last separator, of any system.
fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `path`, of a file that `of` refers to, without `.` and `..` as far as that can be said from the names alone.
fn resolved(path: &str, of: &str) -> Vec<String> {
    let parts = |path: &str| path.split(['/', '\\']).map(str::to_owned).collect::<Vec<_>>();
    let mut whole = if path.starts_with(['/', '\\']) { Vec::new() } else { parts(of) };
    whole.pop();
    let mut plain: Vec<String> = Vec::new();
    for part in whole.into_iter().chain(parts(path)) {
        match part.as_str() {
            "." => {}
            ".." if plain.last().is_some_and(|last| last != ".." && !last.is_empty()) => {
                plain.pop();
            }
            _ => plain.push(part),
        }
    }
    plain
}

/// The companions of an image, and which of them were found to be needed.
pub(super) struct Companions<'a> {
    image: &'a str,
    given: &'a [Companion],
    used: Vec<bool>,
}

impl<'a> Companions<'a> {
    pub fn new(options: &'a OpenOptions) -> Self {
        let given = &options.companions;
        Self { image: options.name.as_deref().unwrap_or("the image"), given, used: vec![false; given.len()] }
    }

    /// The name of a file, for messages.
    pub fn name(&self, id: FileId) -> &str {
        match usize::from(id.0) {
            0 => self.image,
            at => match &self.given[at - 1] {
                Companion { name, stands_for: Some(reference), .. } if name.is_empty() => reference,
                companion => &companion.name,
            },
        }
    }

    /// The file that `reference` names: by the whole name, as it stands or as it leads on from the image that
    /// refers to it, else by its base name. `above` are the names of that image, which is the last, and
    /// of those above. Several candidates, and the image itself, are `usage`; so is the base name of a
    /// file in another folder where an image above has that name too, since it tells nothing then. A
    /// reference that can only be a circle is `corrupt`.
    pub fn find(&mut self, reference: &Reference, role: Role, above: &[&str]) -> Result<Option<FileId>> {
        let wanted = reference.name.strip_prefix("file:").unwrap_or(&reference.name);
        let given = |companion: &'a Companion| companion.stands_for.as_deref().unwrap_or(&companion.name);
        let matching = |matches: &dyn Fn(&str) -> bool| {
            let found = self.given.iter().enumerate().filter(|(_, companion)| matches(given(companion)));
            found.map(|(at, _)| at).collect::<Vec<_>>()
        };
        let mut found = matching(&|name| name == wanted || name == reference.name);
        let referring = above.last().copied().unwrap_or_default();
        if found.is_empty() {
            let path = resolved(wanted, referring);
            found = matching(&|name| resolved(name, "") == path);
        }
        let is_sure = !found.is_empty() || !above.iter().any(|name| base_name(name) == base_name(wanted));
        if found.is_empty() {
            found = matching(&|name| base_name(name) == base_name(wanted));
            found.retain(|&at| is_sure || !self.used[at]);
        }
        match found[..] {
            [] if above.contains(&wanted) => Err(Error::new(
                ErrorKind::Corrupt,
                format!("The image is corrupt: its {role} '{wanted}' is an image above it, or itself"),
            )),
            [] => Ok(None),
            [at] if self.given[at].is_image => Err(ambiguous(&reference.name, role, "the image itself")),
            [at] if !is_sure && given(&self.given[at]).contains(['/', '\\']) => {
                let what =
                    format!("'{}' in its last part only, in which an image above does too", given(&self.given[at]));
                Err(ambiguous(&reference.name, role, &what))
            }
            [at] => {
                self.used[at] = true;
                Ok(Some(FileId(at as u16 + 1)))
            }
            _ => Err(ambiguous(&reference.name, role, "more than one of the files")),
        }
    }

    /// The names of those that nothing refers to.
    pub fn unused(&self) -> Vec<String> {
        let unused = self.given.iter().zip(&self.used).filter(|(_, used)| !**used);
        unused.map(|(companion, _)| companion.name.clone()).collect()
    }
}

fn ambiguous(name: &str, role: Role, what: &str) -> Error {
    let message =
        format!("'{name}', the image's {role}, matches {what}; say which file it is, as NAME=FILE with that name");
    Error::new(ErrorKind::Usage, message)
}
