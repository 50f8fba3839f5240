//! Finds a parent without a name by the identity in its child, among the companions without a reference.

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

/// Identities of the companions. Each companion is opened once, however many layers search for a parent.
#[derive(Default)]
pub(super) struct ParentSearch {
    /// The identities of a file, or the reason why it cannot be opened.
    known: BTreeMap<FileId, Result<Vec<Identity>>>,
}

impl ParentSearch {
    /// Finds the companion whose identity matches `reference`. An unchanged parent wins over changed ones.
    ///
    /// Fails with `usage` if several files match; with `source` or `internal` if a file cannot be read. If no file
    /// matches and one cannot be opened, fails with the error of the first such file: it may be the parent.
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

    /// The identities of the file `id`; empty if it is not an image with identities. The inner error is the reason why
    /// its image cannot be opened.
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
        // For example an extent of a VMDK, which is not a parent.
        Err(error) if matches!(error.kind, MissingFile | NotRecognised) => Ok(Ok(Vec::new())),
        Err(error) => Err(error),
    }
}

/// Opens `file`, or the image inside it, and returns its identities.
async fn open(file: Rc<dyn Source>) -> Result<Vec<Identity>> {
    let Unpacked { source, content: Content::Image(format), .. } = unpack(file, false).await? else {
        return Ok(Vec::new());
    };
    if !format.is_supported() {
        return Ok(Vec::new());
    }
    let how = LayerOptions { is_backing: true, ..LayerOptions::default() };
    Ok(format.open(source, how).await?.identities())
}
