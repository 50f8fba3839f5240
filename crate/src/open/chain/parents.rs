//! Finds a parent without a name by the identity in its child, among the companions without a reference.

use super::companions::Candidates;
use super::companions::ambiguous;
use crate::disk::reference::{Identity, Reference};
use crate::error::place::Place;
use crate::error::{ErrorKind, Result};
use crate::format::LayerOptions;
use crate::io::source::{FileId, Source};
use crate::io::table_cache::TableCache;
use crate::open::descent::InnerFile;
use crate::open::identify::FileType;
use std::rc::Rc;

/// Identities of the companions. Each companion is unpacked and opened once, however many layers search for a parent.
pub(super) struct ParentSearch {
    /// The companions so far, or the reasons why they cannot be opened, by the numbers of their files.
    known: Vec<Option<Result<SearchedFile>>>,
    tables: Rc<TableCache>,
    /// Whether to tolerate damage that leaves the identities readable.
    salvage: bool,
}

struct SearchedFile {
    /// `None` if it could not be unpacked, and is not the parent.
    file: Option<InnerFile>,
    /// Empty if it is not an image with identities.
    identities: Vec<Identity>,
}

impl ParentSearch {
    /// Creates a search that reads headers through `tables`.
    pub(crate) fn new(tables: &Rc<TableCache>, salvage: bool) -> Self {
        Self { known: Vec::new(), tables: tables.clone(), salvage }
    }

    /// Returns the file `id` without its containers, if a search unpacked it.
    pub(crate) fn unpacked(&self, id: FileId) -> Option<&InnerFile> {
        self.known.get(usize::from(id.0))?.as_ref()?.as_ref().ok()?.file.as_ref()
    }

    /// Finds the companion whose identity matches `reference`. An unchanged parent wins over changed ones.
    ///
    /// Fails with `usage` if several files match; with `source` or `internal` if a file cannot be read. If no file
    /// matches and one cannot be opened, fails with the error of the first such file: it may be the parent.
    pub(crate) async fn find(
        &mut self,
        reference: &Reference,
        files: &[Rc<dyn Source>],
        companions: &mut Candidates<'_>,
    ) -> Result<Option<FileId>> {
        let Some(wanted) = &reference.identity else { return Ok(None) };
        let mut found: Vec<(FileId, bool)> = Vec::new();
        let mut failure = None;
        for id in companions.free() {
            match self.known(id, files).await? {
                Ok(SearchedFile { identities, .. }) if wanted.is_of_disk(identities) => {
                    found.push((id, wanted.is_met_by(identities)));
                }
                Ok(SearchedFile {
                    file: Some(InnerFile { file_type: FileType::Ambiguous(ambiguity), .. }), ..
                }) => {
                    failure = failure.or_else(|| Some(ambiguity.of_companion(companions.name(id))));
                }
                Ok(_) => {}
                Err(error) => {
                    failure = failure.or_else(|| Some(error.clone().within(Place::file(companions.name(id)))))
                }
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

    /// The file `id`, or the reason why its image cannot be opened.
    async fn known(&mut self, id: FileId, files: &[Rc<dyn Source>]) -> Result<&Result<SearchedFile>> {
        let at = usize::from(id.0);
        self.known.resize_with(self.known.len().max(at + 1), || None);
        Ok(match &mut self.known[at] {
            Some(known) => known,
            unknown => unknown.insert(search(files[at].clone(), &self.tables, self.salvage).await?),
        })
    }
}

async fn search(file: Rc<dyn Source>, tables: &Rc<TableCache>, salvage: bool) -> Result<Result<SearchedFile>> {
    use ErrorKind::{Corrupt, Limit, MissingFile, NotRecognised, Unsupported};
    match open(file, tables, salvage).await {
        Ok(known) => Ok(Ok(known)),
        Err(error) if matches!(error.kind, Corrupt | Limit | Unsupported) => Ok(Err(error)),
        // For example an extent of a VMDK, which is not a parent.
        Err(error) if matches!(error.kind, MissingFile | NotRecognised) => {
            Ok(Ok(SearchedFile { file: None, identities: Vec::new() }))
        }
        Err(error) => Err(error),
    }
}

/// Opens `file`, or the image inside it.
async fn open(file: Rc<dyn Source>, tables: &Rc<TableCache>, salvage: bool) -> Result<SearchedFile> {
    let inner = InnerFile::of(file, false, tables).await?;
    let identities = match inner.file_type {
        FileType::Image(format) => {
            let how = LayerOptions { is_backing: true, salvage, ..LayerOptions::default() };
            format.open(tables.over(inner.source.clone()), how).await?.identities()
        }
        _ => Vec::new(),
    };
    Ok(SearchedFile { file: Some(inner), identities })
}
