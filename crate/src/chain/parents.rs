//! Finds a parent that has no name: by what its child records of it, among the companions that nothing refers to.

use super::candidates::Candidates;
use super::companions::ambiguous;
use crate::error::{ErrorKind, Result};
use crate::format::LayerOptions;
use crate::full_build::FullBuild;
use crate::reference::{Identity, Reference};
use crate::source::{FileId, Source};
use crate::unpack::{Content, Unpacked, unpack};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

/// What the companions turned out to be. Each is opened once, however many layers look for a parent.
#[derive(Default)]
pub(super) struct ParentSearch {
    /// The identities of a file; none if it cannot be opened.
    known: BTreeMap<FileId, Vec<Identity>>,
}

impl ParentSearch {
    /// The companion whose identity matches `reference`. One in the right state wins over those that have been changed since.
    ///
    /// Fails with `usage` if several files are it, with `source` or `internal` where a file cannot be read, and with
    /// `full-build` where one lies in a container and this build opens none.
    pub async fn find(
        &mut self,
        reference: &Reference,
        files: &[Rc<dyn Source>],
        companions: &mut Candidates<'_>,
    ) -> Result<Option<FileId>> {
        let Some(wanted) = &reference.identity else { return Ok(None) };
        FullBuild::require("formats that identify a parent")?;
        let mut found: Vec<(FileId, bool)> = Vec::new();
        for id in companions.free() {
            let known = self.identities(id, files).await?;
            if wanted.is_of_disk(known) {
                found.push((id, wanted.is_met_by(known)));
            }
        }
        if found.iter().any(|&(_, is_met)| is_met) {
            found.retain(|&(_, is_met)| is_met);
        }
        match found[..] {
            [] => Ok(None),
            [(id, _)] => {
                companions.take(id);
                Ok(Some(id))
            }
            _ => Err(ambiguous(&reference.name, reference.role, "more than one of the files")),
        }
    }

    /// The identities of the file `id`, if it is an image that has any.
    async fn identities(&mut self, id: FileId, files: &[Rc<dyn Source>]) -> Result<&[Identity]> {
        let known = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(read_identities(id, files).await?),
        };
        Ok(known)
    }
}

/// Opens the file `id`, or what lies in it, and closes it again. What cannot be opened as an image has no identity.
async fn read_identities(id: FileId, files: &[Rc<dyn Source>]) -> Result<Vec<Identity>> {
    match open(files[usize::from(id.0)].clone()).await {
        Err(error) if matches!(error.kind, ErrorKind::Source | ErrorKind::Internal | ErrorKind::FullBuild) => {
            Err(error)
        }
        found => Ok(found.unwrap_or_default()),
    }
}

async fn open(file: Rc<dyn Source>) -> Result<Vec<Identity>> {
    let Unpacked { source, content: Content::Image(format), .. } = unpack(file, false).await? else {
        return Ok(Vec::new());
    };
    let how = LayerOptions { is_backing: true, ..LayerOptions::default() };
    Ok(format.open(source, how).await?.identities())
}
