//! The layers below an image: finds a parent without a name by the identity that its child records, and checks that a layer below
//! is the right one.

use super::companions::{Candidates, ambiguous};
use crate::disk::info::Notice;
use crate::disk::reference::{Identity, Reference, Unidentified};
use crate::error::place::Place;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Disk, LayerOptions, RAW};
use crate::io::source::{FileId, Source};
use crate::io::table_cache::TableCache;
use crate::open::descent::InnerFile;
use crate::open::identify::{FileType, identify};
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
                    found.push((id, wanted.is_one_of(identities)));
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
            _ => Err(ambiguous(&reference.name, reference.role, "more than one file")),
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
            Some(wanted) if wanted.is_one_of(&found) => Ok(None),
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
                    "'{child}' does not identify its {role}, so Decant could not check whether this is the right file"
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
                "the {role} has changed since '{child}' was created over it: that expects {states}, but the {role} has {has}; pass an earlier copy of the {role}, or force this one"
            )
        } else {
            format!(
                "it is not the {role} of '{child}', which expects {states}: this file has {has}; pass the right one, or force this one"
            )
        };
        let error = Error::new(ErrorKind::Corrupt, format!("The chain is broken: {why}")).coded("wrong-parent");
        error.field("wanted", &*states).field("found", &*has).field("neededBy", self.child)
    }

    fn forced(&self, wanted: &Identity, found: &[Identity]) -> Notice {
        let (role, child) = (self.reference.role, shown(self.child));
        let (states, has) = (wanted.described(), described(wanted, found));
        let message =
            format!("The file was forced as the {role} of '{child}', which expects {states}; the file has {has}");
        let notice = Notice::new("parent-forced", message).field("wanted", &*states);
        notice.field("found", &*has).field("neededBy", self.child)
    }
}

/// Describes the identity in `found` that comes closest to `wanted`: one of the same disk, otherwise the first.
fn described(wanted: &Identity, found: &[Identity]) -> String {
    let closest = found.iter().find(|one| wanted.is_of_disk(std::slice::from_ref(one))).or(found.first());
    closest.map_or_else(|| "none".to_owned(), Identity::described)
}
