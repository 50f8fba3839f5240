//! The error type: a kind, a code and fields for programs, and a sentence for people.

pub mod damage;
pub mod fields;
pub(crate) mod place;
mod secrets;
pub mod shown;

use crate::offsets::{HostOffset, MAX_SIZE};
use decant_codec::OutOfMemory;
use fields::{Field, Fields};
use place::Place;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Advice on truncated files.
pub(crate) const COPY_AGAIN: &str = "download or copy it again";

/// The result type of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// The category of an error. The names are those of the public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The content is not in a known format.
    NotRecognised,
    /// A known format or feature that is not supported; the message names it.
    Unsupported,
    /// The image violates its format, or is truncated.
    Corrupt,
    /// A number in the image, or a disk, exceeds a stated limit.
    Limit,
    /// A file that the image needs was not handed over; the message names it and its role.
    MissingFile,
    /// A password is missing or wrong.
    Password,
    /// Reading the image failed.
    Source,
    /// Writing the output failed.
    Target,
    /// The caller cancelled.
    Cancelled,
    /// The caller passed an invalid request.
    Usage,
    /// A bug in this program, or memory ran out.
    Internal,
}

impl ErrorKind {
    /// All kinds and their names in the public API.
    const NAMES: [(Self, &str); 11] = [
        (Self::NotRecognised, "not-recognised"),
        (Self::Unsupported, "unsupported"),
        (Self::Corrupt, "corrupt"),
        (Self::Limit, "limit"),
        (Self::MissingFile, "missing-file"),
        (Self::Password, "password"),
        (Self::Source, "source"),
        (Self::Target, "target"),
        (Self::Cancelled, "cancelled"),
        (Self::Usage, "usage"),
        (Self::Internal, "internal"),
    ];

    /// Returns the kind named `name` in the public API.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, own)| *own == name).map(|(kind, _)| kind)
    }

    /// The kind's name in the public API.
    pub fn name(self) -> &'static str {
        let named = Self::NAMES.into_iter().find(|(kind, _)| *kind == self);
        named.expect("all kinds have names").1
    }
}

/// A failure: its kind, code and fields, and one sentence that a person can act on.
///
/// Boxed, so that results, which are passed everywhere, and the code that moves them stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorContent>);

/// The kind, code, fields and message of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorContent {
    /// The category, for programs.
    pub kind: ErrorKind,
    /// The exact cause, for programs: a code of `docs/errors.md`, or the name of the kind.
    pub code: Cow<'static, str>,
    /// Details, for programs.
    pub fields: Fields,
    /// The problem: one sentence, without a full stop.
    what: String,
    /// The files that the error occurred in, innermost first; empty for the one that was opened.
    within: Vec<Place>,
    /// Whether a stream has stated where the error occurred: see [`Error::within_stream`].
    is_of_stream: bool,
    /// Advice on the file that was opened. It does not apply to a member of a container, which itself is complete.
    advice: Option<&'static str>,
}

impl ErrorContent {
    /// One sentence for people, without a full stop, of at most [`shown::LONGEST_MESSAGE`] characters.
    pub fn message(&self) -> String {
        let mut message = String::new();
        for place in self.within.iter().rev() {
            message += &format!("In {place}: ");
        }
        message += &self.what;
        if let Some(advice) = self.advice
            && !self.within.iter().any(Place::is_in_container)
        {
            message += "; ";
            message += advice;
        }
        shown::message(&message)
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_struct("Error", 4)?;
        error.serialize_field("kind", self.kind.name())?;
        error.serialize_field("code", &self.code)?;
        error.serialize_field("fields", &self.fields)?;
        error.serialize_field("message", &self.message())?;
        error.end()
    }
}

impl Error {
    /// Creates an error of `kind` with the kind's name as its code. `what` is wrong: see [`ErrorContent::message`].
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self::of(kind, what.into())
    }

    fn of(kind: ErrorKind, what: String) -> Self {
        Self(Box::new(ErrorContent {
            kind,
            code: Cow::Borrowed(kind.name()),
            fields: Fields::default(),
            what,
            within: Vec::new(),
            is_of_stream: false,
            advice: None,
        }))
    }

    /// Adds `advice` on the file, the second half of the sentence. Messages on members of containers leave it out.
    #[must_use]
    pub(crate) fn advised(mut self, advice: &'static str) -> Self {
        self.advice = Some(advice);
        self
    }

    /// Sets the code.
    #[must_use]
    pub(crate) fn coded(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = code.into();
        self
    }

    /// Sets the field `name` to `value`.
    #[must_use]
    pub(crate) fn field(mut self, name: &'static str, value: impl Into<Field>) -> Self {
        self.fields.set(name, value.into());
        self
    }

    /// Creates a `corrupt` error: the image violates its format at `offset`.
    pub(crate) fn corrupt(what: impl fmt::Display, offset: HostOffset) -> Self {
        let message = format!("The image is corrupt: {what} (at byte {} of the file)", offset.0);
        Self::new(ErrorKind::Corrupt, message).field("offset", offset.0)
    }

    /// Creates a `corrupt` error: the image places `what` at `offset`, past the largest possible file.
    pub(crate) fn impossible_position(what: &str, offset: HostOffset) -> Self {
        Self::corrupt(format!("the {what} has an impossible position"), offset)
    }

    /// Creates a `corrupt` error with code `truncated`: `what` is at `offset`, and the file of `size` bytes ends inside it,
    /// there, or before.
    pub(crate) fn truncated(what: impl fmt::Display, offset: HostOffset, size: u64) -> Self {
        let relation = match offset.0.cmp(&size) {
            Ordering::Less => format!("inside {what}, which begins at byte {}", offset.0),
            Ordering::Equal => format!("where {what} should be"),
            Ordering::Greater => format!("but {what} is at byte {}", offset.0),
        };
        let message = format!("The image is truncated: the file ends at byte {size}, {relation}");
        let error = Self::new(ErrorKind::Corrupt, message).coded("truncated").advised(COPY_AGAIN);
        error.field("offset", offset.0).field("size", size)
    }

    /// States that the error occurred in `place`, a companion or a member of a container, if it is about the content of
    /// a file. `None` is the file that was opened. A companion is named in the field `file`, too.
    #[must_use]
    pub(crate) fn within(mut self, place: impl Into<Option<Place>>) -> Self {
        let Some(place) = place.into().filter(|_| self.is_of_content()) else { return self };
        if let Place::File(name) = &place {
            self.fields.set("file", (&**name).into());
        }
        self.within.push(place);
        self
    }

    /// Like [`within`](Self::within), for an error that may come through streams decoded from one another: only the
    /// first stream, where it occurred, states the place.
    #[must_use]
    pub(crate) fn within_stream(mut self, place: Option<Place>) -> Self {
        if self.is_of_stream {
            return self;
        }
        self.is_of_stream = true;
        self.within(place)
    }

    /// Whether the error is about the content of a file, not about the program or the output.
    fn is_of_content(&self) -> bool {
        use ErrorKind::{Corrupt, Limit, MissingFile, NotRecognised, Password, Source, Unsupported};
        matches!(self.kind, Corrupt | Unsupported | Limit | MissingFile | Source | NotRecognised | Password)
    }

    /// Creates an `unsupported` error: the image uses `what`, a known feature that is not supported.
    pub(crate) fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Unsupported, format!("The image uses {what}, which Decant does not read yet"))
    }

    /// Creates an `unsupported` error with code `encrypted`: the disk was encrypted by the hypervisor, or for the package, `by`.
    pub(crate) fn encrypted(by: &'static str) -> Self {
        let error = Self::unsupported(format!("{by}'s encryption")).coded("encrypted").field("by", by);
        error.advised("decrypt the disk there first")
    }

    /// Like [`Self::encrypted`], for a whole virtual machine.
    pub(crate) fn encrypted_machine(by: &'static str) -> Self {
        let message = format!("The virtual machine uses {by}'s encryption, which Decant does not read yet");
        let error = Self::new(ErrorKind::Unsupported, message).coded("encrypted").field("by", by);
        error.advised("decrypt it there first")
    }

    /// Creates a `not-recognised` error with code `other-format`: the file is not in the stated `format`.
    pub(crate) fn other_format(message: &str, format: &str) -> Self {
        Self::new(ErrorKind::NotRecognised, message).coded("other-format").field("format", format)
    }

    /// Creates an `unsupported` error with code `unknown-version`: the image has another `version` of `format`.
    pub(crate) fn unknown_version(version: impl fmt::Display, format: &'static str) -> Self {
        let error = Self::unsupported(format!("version {version} of {format}"));
        error.coded("unknown-version").field("format", format).field("version", &*version.to_string())
    }

    /// Creates an `unsupported` error with code `unknown-feature`: the image has set `bit` of its features; `what`
    /// names it.
    pub(crate) fn unknown_feature(what: impl fmt::Display, bit: u32) -> Self {
        Self::unsupported(what).coded("unknown-feature").field("bit", u64::from(bit))
    }

    /// Converts an allocation failure of `decant-codec`.
    pub(crate) fn no_room(OutOfMemory(bytes): OutOfMemory) -> Self {
        Self::out_of_memory(bytes)
    }

    /// Creates an `internal` error with code `out-of-memory`: a buffer of `bytes` bytes could not be allocated.
    pub(crate) fn out_of_memory(bytes: usize) -> Self {
        Self::new(
            ErrorKind::Internal,
            format!("There was not enough memory for a buffer of {bytes} bytes; close other tabs and programs, or use fewer workers"),
        )
        .coded("out-of-memory")
        .field("size", bytes as u64)
    }
}

impl Deref for Error {
    type Target = ErrorContent;

    fn deref(&self) -> &ErrorContent {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut ErrorContent {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Error {}

/// Fails with [`Error::corrupt`] at byte `at` of the file.
pub(crate) fn corrupt<T>(what: impl fmt::Display, at: u64) -> Result<T> {
    Err(Error::corrupt(what, HostOffset(at)))
}

/// Fails with [`Error::truncated`] if a file of `size` bytes ends before `end`, the end of its header.
pub(crate) fn ensure_header(end: u64, size: u64) -> Result<()> {
    if size < end {
        return Err(Error::truncated("the end of the header", HostOffset(end), size));
    }
    Ok(())
}

/// Returns `size` if it is at most [`MAX_SIZE`]. Otherwise, or if its calculation overflowed (`None`), fails with
/// `limit` and `message`.
pub(crate) fn checked_size(size: Option<u64>, message: impl FnOnce() -> String) -> Result<u64> {
    size.filter(|&size| size <= MAX_SIZE).ok_or_else(|| Error::new(ErrorKind::Limit, message()))
}

/// Returns `size`, the virtual size that a header states, if it is at most [`MAX_SIZE`]. Fails with `limit` otherwise.
pub(crate) fn checked_virtual_size(size: u64) -> Result<u64> {
    checked_size(Some(size), || format!("The virtual size of {size} bytes exceeds the limit of 2^53-1 bytes"))
}

/// Returns `size`, the size of `what` ("disk", for example), if it is at most [`MAX_SIZE`]. Otherwise, or if its
/// calculation overflowed (`None`), fails with `limit`.
pub(crate) fn checked_size_of(what: &str, size: Option<u64>) -> Result<u64> {
    checked_size(size, || format!("The {what} is larger than 2^53-1 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_is_before_or_inside_a_structure() {
        for (offset, part) in [
            (9, "at byte 8, but it is at byte 9"),
            (8, "at byte 8, where it should be"),
            (7, ", inside it, which begins at byte 7"),
        ] {
            let message = Error::truncated("it", HostOffset(offset), 8).message();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn messages_name_places_and_advise_on_whole_files() {
        use Place::{Content, Member};
        let file = || Place::file("a\n");
        let advice = "; download or copy it again";
        // (places, innermost first, how the message begins, whether it ends with advice)
        let cases: &[(Vec<Place>, &str, bool)] = &[
            (vec![], "The image", true),
            (vec![file()], "In 'a\\u000a': The image", true),
            (vec![Member("b".to_owned())], "In 'b': The image", false),
            (vec![Content("gzip".to_owned())], "In the content of the gzip file: The image", false),
            (vec![Member("b".to_owned()), file()], "In 'a\\u000a': In 'b': The image", false),
            (vec![file(), Member("b".to_owned())], "In 'b': In 'a\\u000a': The image", false),
        ];
        for (places, start, is_advised) in cases {
            let error = Error::truncated("it", HostOffset(2), 1);
            let error = places.iter().cloned().fold(error, Error::within);
            let message = error.message();
            assert!(message.starts_with(start) && message.ends_with(advice) == *is_advised, "{message}");
            let is_named = error.fields.get("file") == Some(&Field::from("a\n"));
            assert_eq!(is_named, places.contains(&file()), "{message}");
        }
        let usage = Error::new(ErrorKind::Usage, "No").within(file());
        assert_eq!((usage.message(), usage.fields.get("file")), ("No".to_owned(), None));
        let inner = Error::truncated("it", HostOffset(2), 1).within_stream(None);
        assert_eq!(inner.clone().within_stream(Some(Member("b".to_owned()))), inner);
    }
}
