//! Checks a layer below against the identity that the layer above records for it.

use crate::disk::info::Notice;
use crate::disk::reference::{Identity, Reference, Unidentified};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Disk, RAW};
use crate::io::source::Source;
use crate::open::identify::{FileType, identify};

/// The check of a layer below, before it is accepted.
pub(super) struct ParentCheck<'a> {
    pub(super) reference: &'a Reference,
    /// The name and the format of the image above.
    pub(super) child: &'a str,
    pub(super) child_format: &'a str,
    /// See [`crate::OpenOptions::force_parent`].
    pub(super) is_forced: bool,
}

impl ParentCheck<'_> {
    /// Checks `disk`, which was opened from `file`. Returns a notice if `disk` is accepted without proof that it
    /// is the right one. Fails with `corrupt`, and as reading does.
    pub(super) async fn run(&self, disk: &dyn Disk, file: &dyn Source) -> Result<Option<Notice>> {
        let found = disk.identities();
        match &self.reference.identity {
            Some(wanted) if wanted.is_met_by(&found) => Ok(None),
            Some(wanted) if self.is_forced => Ok(Some(self.forced(wanted, &found))),
            Some(wanted) => Err(self.other_parent(wanted, &found)),
            None => self.without_identity(file).await,
        }
    }

    async fn without_identity(&self, file: &dyn Source) -> Result<Option<Notice>> {
        match self.reference.unidentified {
            Unidentified::Accepted => Ok(None),
            Unidentified::Refused if !self.is_forced => {
                Err(self.unverifiable("does not; force this file if it is the right one"))
            }
            Unidentified::Noticed if self.is_raw_by_rule() && self.has_format_of_child(file).await? => {
                Err(self.unverifiable("states none, which stands for a raw disk, and this file is not raw"))
            }
            Unidentified::Noticed | Unidentified::Refused => {
                let (role, child) = (self.reference.role, shown(self.child));
                let message = format!(
                    "'{child}' does not state the identity of its {role}: whether this is the right one was not checked"
                );
                Ok(Some(Notice::new("parent-unchecked", message).field("neededBy", self.child)))
            }
        }
    }

    fn is_raw_by_rule(&self) -> bool {
        self.reference.format.as_deref() == Some(RAW.name)
    }

    async fn has_format_of_child(&self, file: &dyn Source) -> Result<bool> {
        Ok(match identify(file, None).await? {
            FileType::Image(format) => format.name == self.child_format,
            FileType::Ambiguous(_) => true,
            _ => false,
        })
    }

    /// The error for a parent that the child does not identify.
    fn unverifiable(&self, why: &str) -> Error {
        let (role, child) = (self.reference.role, shown(self.child));
        let message =
            format!("The chain cannot be checked: '{child}' should state the identity of its {role}, but {why}");
        Error::new(ErrorKind::Corrupt, message).coded("parent-unverifiable").field("neededBy", self.child)
    }

    /// The error for a file whose identities, `found`, do not include the one that the child records.
    fn other_parent(&self, wanted: &Identity, found: &[Identity]) -> Error {
        let (role, child) = (self.reference.role, shown(self.child));
        let (states, has) = (wanted.described(), described(wanted, found));
        let why = if wanted.is_of_disk(found) {
            format!(
                "the {role} has changed since '{child}' was created over it, which states {states}, but it has {has}; pass an earlier copy of the {role}, or force this one"
            )
        } else {
            format!(
                "it is not the {role} of '{child}', which states {states}, but this file has {has}; pass the right one, or force this one"
            )
        };
        let error = Error::new(ErrorKind::Corrupt, format!("The chain is broken: {why}")).coded("wrong-parent");
        error.field("wanted", &*states).field("found", &*has).field("neededBy", self.child)
    }

    fn forced(&self, wanted: &Identity, found: &[Identity]) -> Notice {
        let (role, child) = (self.reference.role, shown(self.child));
        let (states, has) = (wanted.described(), described(wanted, found));
        let message = format!(
            "The file is read as the {role} of '{child}', as forced, although that states {states}, and this has {has}"
        );
        let notice = Notice::new("parent-forced", message).field("wanted", &*states);
        notice.field("found", &*has).field("neededBy", self.child)
    }
}

/// Describes the identity in `found` that comes closest to `wanted`: one of the same disk, otherwise the first.
fn described(wanted: &Identity, found: &[Identity]) -> String {
    let closest = found.iter().find(|one| wanted.is_of_disk(std::slice::from_ref(one))).or(found.first());
    closest.map_or_else(|| "none".to_owned(), Identity::described)
}
