//! An image whose file is named as a part of a split file: finds the other parts among its companions, joins them, and names them in
//! errors.

use super::finding::{PartOfFile, part_among};
use crate::disk::info::{ContainerInfo, Notice};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Format, LayerOptions, RAW};
use crate::io::pieces::Pieces;
use crate::io::source::{Source, read_start};
use crate::io::table_cache::TableCache;
use crate::open::chain::open_options::{Companion, OpenOptions};
use crate::open::descent::InnerFile;
use crate::open::guess;
use crate::open::identify::{FileType, identify};
use std::rc::Rc;

/// An image whose file has the name of a part of a split file.
pub(crate) struct SplitFile {
    /// The names of the parts that the image is read from: of one unless they are joined.
    parts: Vec<String>,
    /// The indices of the parts after the first among the companions.
    pub(in crate::open) next: Vec<usize>,
    /// If it is a later part: the name of the first, which may be a guess.
    first: Option<String>,
    /// Whether the part after it is a complete image.
    is_one_of_images: bool,
}

impl SplitFile {
    /// Whether the image is read from several parts.
    fn is_joined(&self) -> bool {
        self.parts.len() > 1
    }

    /// The notice about the image, if it is a disk in `format`, in no container.
    pub(crate) fn notice(&self, format: &Format) -> Option<Notice> {
        // In other formats, the end of the file shows whether a part is missing.
        let has_any_end = format.is_raw() || format.on_disks;
        has_any_end.then(|| if self.is_joined() { self.unchecked() } else { self.alone() })
    }

    /// The notice about a disk in `format` in `containers`, if its file has the name of a part: parts in archives are not joined.
    pub(crate) fn notice_in(containers: &[ContainerInfo], format: &Format) -> Option<Notice> {
        let member = containers.last()?.member.as_deref()?;
        part_among(&[member]).ok().flatten()?;
        let alone = Self { parts: vec![member.to_owned()], next: Vec::new(), first: None, is_one_of_images: false };
        alone.notice(format)
    }

    fn alone(&self) -> Notice {
        let file = &self.parts[0];
        let message = format!("By its name, '{}' is a part of a split file; it is read as the whole disk", shown(file));
        Notice::new("part-alone", message).field("first", &**file)
    }

    fn unchecked(&self) -> Notice {
        let (first, last, count) = self.ends();
        let message = format!(
            "The disk is read from {count} files, '{}' to '{}', as parts of one file; nothing in them shows that they belong \
             together, or whether the last one is missing",
            shown(first),
            shown(last)
        );
        Notice::new("parts-unchecked", message).field("first", first).field("last", last).field("count", count)
    }

    /// The names of the first and the last part, and their number.
    fn ends(&self) -> (&str, &str, u64) {
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        (first, last, self.parts.len() as u64)
    }

    /// Names the first part in the `error` for an image that is not recognised, or asks for all parts if the image is truncated.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if error.fields.get("file").is_some() {
            // The error is about a companion.
            return error;
        }
        match &self.first {
            Some(first) if error.kind == ErrorKind::NotRecognised => {
                later_part(error.kind, "The file is not in a format that Decant recognises", first)
            }
            None if error.code == "truncated" && !self.is_one_of_images => self.incomplete(error),
            _ => error,
        }
    }

    /// The error for the first parts of a split file, joined or a single one, which end too early: `truncated`.
    fn incomplete(&self, truncated: Error) -> Error {
        let (first, last, count) = self.ends();
        let (names, parts) = match count {
            1 => ("its name", format!("'{}' is the first part", shown(first))),
            _ => ("their names", format!("'{}' to '{}' are the first parts", shown(first), shown(last))),
        };
        let message = format!("The image is truncated; by {names}, {parts} of a split file: open all parts together");
        let mut error = Error::new(ErrorKind::Corrupt, message).coded("parts-needed");
        error.fields = truncated.fields.clone();
        error.field("first", first).field("last", last).field("count", count)
    }
}

/// Returns `error` as [`SplitFile::explain`] changes it, if the image is a part.
pub(crate) fn explained(part: Option<&SplitFile>, error: Error) -> Error {
    match part {
        Some(part) => part.explain(error),
        None => error,
    }
}

/// The error, which begins with `message`, for a later part of the split file that begins with `first`.
fn later_part(kind: ErrorKind, message: &str, first: &str) -> Error {
    let message = format!(
        "{message}; by its name, it is a later part of a split file: open the first part, '{}', with the others",
        shown(first)
    );
    Error::new(kind, message).coded("later-part").field("first", first)
}

impl SplitFile {
    /// Describes the file `image`, which `options` describe, as a part of a split file; `None` if it is not named as one. Reads starts of
    /// the image and of its next part, through `tables`.
    ///
    /// Fails with `missing-file` if a part between others is missing, with `corrupt` if a part has the wrong size, with `usage` if the
    /// image is stated to be raw and is a later part, if two files are one part, if the files may be parts or whole ones, or if they may be
    /// parts of one file or of two, and as reading does.
    pub(in crate::open) async fn of(
        image: &Rc<dyn Source>,
        options: &OpenOptions,
        tables: &Rc<TableCache>,
    ) -> Result<Option<Self>> {
        let Some(file) = &options.file else { return Ok(None) };
        let names: Vec<_> = std::iter::once(&**file).chain(options.companions.iter().map(name_of)).collect();
        let Some(part) = part_among(&names)? else { return Ok(None) };
        let with = |at: usize| Neighbours { image, other: &options.companions[at - 1].source, options, tables };
        if let Some(other) = part.other
            && !with(other).are_images().await?
        {
            return Err(unclear(names[0], names[other]));
        }
        let is_raw = options.format.as_deref() == Some(RAW.name);
        if let Some(first) = part.first.as_ref().filter(|first| is_raw && first.is_there) {
            return Err(later_part(ErrorKind::Usage, "The disk does not begin in this file", &first.name));
        }
        let mut split = Self {
            parts: vec![file.clone()],
            next: Vec::new(),
            first: part.first.as_ref().map(|first| first.name.clone()),
            is_one_of_images: part.other.is_some(),
        };
        let Some(&second) = part.next.first() else { return Ok(Some(split)) };
        if with(second).are_images().await? {
            split.is_one_of_images = true;
            return Ok(Some(split));
        }
        if with(second).begin_alike().await? {
            return Err(ambiguous(names[0], names[second]));
        }
        let others = part.next.iter().map(|at| options.companions[at - 1].source.size());
        check_parts(&part, &names, &std::iter::once(image.size()).chain(others).collect::<Vec<_>>())?;
        split.parts.extend(part.next.iter().map(|&at| names[at].to_owned()));
        split.next = part.next.into_iter().map(|at| at - 1).collect();
        Ok(Some(split))
    }

    /// Returns the file `image` joined with its next parts, the companions in `options`, which become parts of the image.
    pub(in crate::open) fn join(
        &self,
        image: Rc<dyn Source>,
        options: &mut OpenOptions,
        tables: &TableCache,
    ) -> Rc<dyn Source> {
        if !self.is_joined() {
            return image;
        }
        let mut parts = vec![image];
        for &at in &self.next {
            options.companions[at].is_image = true;
            parts.push(options.companions[at].source.clone());
        }
        let whole: Rc<dyn Source> = Rc::new(Pieces::joined(parts.clone()));
        tables.join(&parts, &whole);
        whole
    }
}

/// The name by which `companion` may be a part. The image among its companions is one part.
fn name_of(companion: &Companion) -> &str {
    if companion.is_image && companion.stands_for.is_none() { "" } else { companion.stated_name() }
}

/// An image and a file that may be its next part.
struct Neighbours<'a> {
    image: &'a Rc<dyn Source>,
    other: &'a Rc<dyn Source>,
    options: &'a OpenOptions,
    tables: &'a Rc<TableCache>,
}

impl Neighbours<'_> {
    /// Whether both are images in one format. They are two images then, not parts of one: overlays, for example.
    async fn are_images(&self) -> Result<bool> {
        let format = self.format_of(self.other).await?;
        Ok(format.is_some() && format == self.format_of(self.image).await?)
    }

    /// Returns the name of the format of `file`, if it is an image, or an archive of one, that is not compressed.
    async fn format_of(&self, file: &Rc<dyn Source>) -> Result<Option<&'static str>> {
        let Self { options, tables, .. } = self;
        let salvage = options.salvage;
        if of_content(self.type_of(file).await)?.is_none_or(|file_type| !may_be_image(file_type)) {
            return Ok(None);
        }
        let Some(inner) = of_content(InnerFile::of(file.clone(), salvage, tables).await)? else { return Ok(None) };
        let format = match inner.file_type {
            FileType::Image(format) => format,
            FileType::HybridIso => RAW,
            FileType::Unknown if inner.place.is_some() && inner.is_ended => RAW,
            _ => return Ok(None),
        };
        let how = LayerOptions { salvage, missing: inner.missing, ..LayerOptions::default() };
        let opened = of_content(format.open(tables.over(inner.source), how).await)?;
        Ok(opened.map(|_| format.name))
    }

    async fn type_of(&self, file: &Rc<dyn Source>) -> Result<FileType> {
        identify(&*self.tables.over(file.clone()), None).await
    }

    /// Whether both are compressed in the same way, or are raw disks with a signature in common: copies of a disk. Parts of one disk
    /// may be alike, too: an XFS split into its allocation groups, or parts that were compressed after the split.
    async fn begin_alike(&self) -> Result<bool> {
        if let FileType::Container(container) = self.type_of(self.other).await?
            && !container.is_archive()
        {
            let of_image = self.type_of(self.image).await?;
            return Ok(matches!(of_image, FileType::Container(other) if other.name == container.name));
        }
        if self.options.format.as_deref() != Some(RAW.name) || self.options.unpack {
            return Ok(false);
        }
        let other = self.start_of(self.other).await?;
        Ok(guess::has_signature(&other) && guess::have_common_signature(&other, &self.start_of(self.image).await?))
    }

    async fn start_of(&self, file: &Rc<dyn Source>) -> Result<Vec<u8>> {
        read_start(&*self.tables.over(file.clone()), guess::COMMON_REACH).await
    }
}

/// Whether a file of this type may be an image without decoding.
fn may_be_image(file_type: FileType) -> bool {
    match file_type {
        FileType::Image(_) | FileType::HybridIso => true,
        FileType::Container(container) => container.is_archive(),
        FileType::Unsupported(_) | FileType::Ambiguous(_) | FileType::Unknown => false,
    }
}

/// Returns the value of `result`; `None` if it failed because of the content of a file.
fn of_content<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if matches!(error.kind, ErrorKind::Source | ErrorKind::Internal) => Err(error),
        found => Ok(found.ok()),
    }
}

fn check_parts(part: &PartOfFile, names: &[&str], sizes: &[u64]) -> Result<()> {
    if let Some(missing) = &part.missing {
        let message =
            format!("'{}', a part of the image, is missing; open all parts again, together with it", shown(missing));
        let error = Error::new(ErrorKind::MissingFile, message).field("file", &**missing);
        return Err(error.field("role", "part").field("neededBy", names[0]));
    }
    let Some(wrong) = wrong_size(sizes) else { return Ok(()) };
    let file = wrong.checked_sub(1).map_or(names[0], |at| names[part.next[at]]);
    let message = format!("The image is corrupt: its part '{}' has another size than those before it", shown(file));
    Err(Error::new(ErrorKind::Corrupt, message).coded("piece-damaged").field("file", file))
}

/// Returns the index of the first of a split file's parts, which have these `sizes`, that cannot have its size; `None` if all can.
pub fn wrong_size(sizes: &[u64]) -> Option<usize> {
    let (first, last) = (sizes.first()?, sizes.last()?);
    // `split -n` puts the bytes that remain into the last part, or newer versions one into each of the first parts.
    if sizes.is_sorted_by(|a, b| a >= b) && last + 1 >= *first {
        return None;
    }
    let count = sizes.len();
    let is_wrong = |at: usize| if at + 1 == count { sizes[at] >= first + count as u64 } else { sizes[at] != *first };
    (0..count).find(|&at| is_wrong(at))
}

/// The error for two files that begin alike: usually two whole files do, such as copies of a disk, but the parts of one file may, too.
fn ambiguous(first: &str, second: &str) -> Error {
    let message = format!(
        "'{}' and '{}' are named as parts of one file, but each begins like a whole one; to read one of them, pass it without \
         the others (to the command, by standard input); if they are parts, join them first",
        shown(first),
        shown(second)
    );
    parts_ambiguous(message, first, second)
}

/// The error for files that may be parts of one file or of two.
fn unclear(first: &str, second: &str) -> Error {
    let message = format!(
        "'{}' and '{}' may be parts of one file or of two, and others are missing; put all parts of the image, and no others, \
         into a folder",
        shown(first),
        shown(second)
    );
    parts_ambiguous(message, first, second)
}

fn parts_ambiguous(message: String, first: &str, second: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, message).coded("parts-ambiguous");
    error.field("first", first).field("second", second)
}
