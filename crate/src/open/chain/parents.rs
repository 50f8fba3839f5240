//! Finds a parent that has no name: by what its child records of it, among the companions that nothing refers to.

use super::candidates::Candidates;
use super::companions::ambiguous;
use crate::disk::reference::{Identity, Reference};
use crate::error::{ErrorKind, Result};
use crate::format::LayerOptions;
use crate::io::source::{FileId, Source};
use crate::open::unpack::{Content, Unpacked, unpack};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

/// What the companions turned out to be. Each is opened once, however many layers look for a parent.
#[derive(Default)]
pub(super) struct ParentSearch {
    /// The identities of a file, or why it cannot be opened.
    known: BTreeMap<FileId, Result<Vec<Identity>>>,
}

impl ParentSearch {
    /// The companion whose identity matches `reference`. One in the right state wins over those that have been changed since.
    ///
    /// Fails with `usage` if several files match; where none does, as opening the first one fails that cannot be opened, since
    /// that may be the parent; with `source` or `internal` where a file cannot be read.
    pub async fn find(
        &mut self,
        reference: &Reference,
        files: &[Rc<dyn Source>],
        companions: &mut Candidates<'_>,
    ) -> Result<Option<FileId>> {
        let Some(wanted) = &reference.identity else { return Ok(None) };
        let mut found: Vec<(FileId, bool)> = Vec::new();
        let mut failure = None;
        for id in companions.free() {
            match self.identities(id, files).await? {
                Ok(known) if wanted.is_of_disk(known) => found.push((id, wanted.is_met_by(known))),
                Ok(_) => {}
                Err(error) => failure = failure.or_else(|| Some(error.clone().within(companions.name(id)))),
            }
        }
        if found.iter().any(|&(_, is_met)| is_met) {
            found.retain(|&(_, is_met)| is_met);
        }
        match found[..] {
            [] => failure.map_or(Ok(None), Err),
            [(id, _)] => {
                companions.take(id);
                Ok(Some(id))
            }
            _ => Err(ambiguous(&reference.name, reference.role, "more than one of the files")),
        }
    }

    /// The identities of the file `id`; none if it is no image that has any. The inner error says why the image in it cannot
    /// be opened.
    async fn identities(&mut self, id: FileId, files: &[Rc<dyn Source>]) -> Result<&Result<Vec<Identity>>> {
        Ok(match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(read_identities(files[usize::from(id.0)].clone()).await?),
        })
    }
}

async fn read_identities(file: Rc<dyn Source>) -> Result<Result<Vec<Identity>>> {
    use ErrorKind::{Corrupt, Limit, MissingFile, NotRecognised, Unsupported};
    match open(file).await {
        Ok(identities) => Ok(Ok(identities)),
        Err(error) if matches!(error.kind, Corrupt | Limit | Unsupported) => Ok(Err(error)),
        // An extent of a VMDK, above all, is no parent.
        Err(error) if matches!(error.kind, MissingFile | NotRecognised) => Ok(Ok(Vec::new())),
        Err(error) => Err(error),
    }
}

/// Opens `file`, or the image in it, and closes it again.
async fn open(file: Rc<dyn Source>) -> Result<Vec<Identity>> {
    let Unpacked { source, content: Content::Image(format), .. } = unpack(file, false).await? else {
        return Ok(Vec::new());
    };
    if !format.is_read() {
        return Ok(Vec::new());
    }
    let how = LayerOptions { is_backing: true, ..LayerOptions::default() };
    Ok(format.open(source, how).await?.identities())
}
