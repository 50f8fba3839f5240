//! The one error type: a kind, a code and fields for programs, one sentence for people.

pub mod fields;
mod secrets;
pub mod shown;

use crate::offsets::HostOffset;
use decant_codec::OutOfMemory;
use fields::{Field, Fields};
use shown::shown;
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// What helps against a file that was cut off.
const COPY_AGAIN: &str = "; download or copy it again";

/// The result of everything in the core that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, for programs. The names are those of the public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The content is in no known format.
    NotRecognised,
    /// A known format or feature that is not read; the message names it.
    Unsupported,
    /// The image contradicts its format, or is truncated.
    Corrupt,
    /// A number in the image, or a disk, exceeds a stated limit.
    Limit,
    /// The image needs a file that was not handed over; the message names it and its role.
    MissingFile,
    /// A password is needed, or the one given is wrong.
    Password,
    /// Reading the image failed.
    Source,
    /// Writing the output failed.
    Sink,
    /// The caller cancelled.
    Cancelled,
    /// The caller asked for something impossible.
    Usage,
    /// A fault of this program, or memory ran out.
    Internal,
}

impl ErrorKind {
    const ALL: [Self; 11] = [
        Self::NotRecognised,
        Self::Unsupported,
        Self::Corrupt,
        Self::Limit,
        Self::MissingFile,
        Self::Password,
        Self::Source,
        Self::Sink,
        Self::Cancelled,
        Self::Usage,
        Self::Internal,
    ];

    /// The kind that the public API spells `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind as the public API spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotRecognised => "not-recognised",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::Limit => "limit",
            Self::MissingFile => "missing-file",
            Self::Password => "password",
            Self::Source => "source",
            Self::Sink => "sink",
            Self::Cancelled => "cancelled",
            Self::Usage => "usage",
            Self::Internal => "internal",
        }
    }
}

/// A failure: its kind, code and fields, and one sentence that a person can act on.
///
/// Boxed: results are passed everywhere, and a pointer keeps them, and the code that moves them, small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Failure>);

/// What an [`Error`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong, for programs.
    pub kind: ErrorKind,
    /// What exactly went wrong, for programs: a code of `docs/errors.md`, or the name of the kind.
    pub code: Cow<'static, str>,
    /// What the sentence is about, for programs.
    pub fields: Fields,
    /// One sentence, without a full stop at its end, of at most [`shown::LONGEST_MESSAGE`] characters.
    pub message: String,
}

impl Error {
    /// An error of `kind`, whose code is the kind's name. The message is escaped and cut as [`shown`] does it.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self::of(kind, message.as_ref())
    }

    fn of(kind: ErrorKind, message: &str) -> Self {
        let code = Cow::Borrowed(kind.name());
        Self(Box::new(Failure { kind, code, fields: Fields::default(), message: shown::message(message) }))
    }

    /// The same error with `code`.
    #[must_use]
    pub fn coded(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = code.into();
        self
    }

    /// The same error; its field `name` is `value`.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl Into<Field>) -> Self {
        self.fields.set(name, value.into());
        self
    }

    /// The image contradicts its format at `offset`.
    pub fn corrupt(what: impl fmt::Display, offset: HostOffset) -> Self {
        let message = format!("The image is corrupt: {what} (at byte {} of the file)", offset.0);
        Self::new(ErrorKind::Corrupt, message).field("offset", offset.0)
    }

    /// The image places `what` at `offset`, where no file can have it.
    pub fn impossible_position(what: &str, offset: HostOffset) -> Self {
        Self::corrupt(format!("the {what} has an impossible position"), offset)
    }

    /// The file of `size` bytes ends before `what`, which lies at `offset`.
    pub fn truncated(what: impl fmt::Display, offset: HostOffset, size: u64) -> Self {
        let message = format!(
            "The image is truncated: the file ends at byte {size}, but {what} lies at byte {}{COPY_AGAIN}",
            offset.0
        );
        Self::new(ErrorKind::Corrupt, message).coded("truncated").field("offset", offset.0).field("size", size)
    }

    /// The same error; its message and its field `file` name the companion `name` if the fault lies in that file.
    pub fn within(self, name: &str) -> Self {
        if !self.is_of_content() {
            return self;
        }
        self.at(&format!("'{}'", shown(name))).field("file", name)
    }

    /// The same error; its message says that the fault lies in `content`, what a container holds, and does not ask for
    /// another copy of the container, which is whole.
    pub fn inside(mut self, content: &str) -> Self {
        let kept = self.message.strip_suffix(COPY_AGAIN).map(str::len);
        if let Some(kept) = kept {
            self.message.truncate(kept);
        }
        self.at(content)
    }

    /// Whether the fault lies in a file, and not in the program or the output.
    fn is_of_content(&self) -> bool {
        use ErrorKind::{Corrupt, Limit, MissingFile, NotRecognised, Password, Source, Unsupported};
        matches!(self.kind, Corrupt | Unsupported | Limit | MissingFile | Source | NotRecognised | Password)
    }

    fn at(mut self, place: &str) -> Self {
        if self.is_of_content() {
            self.message = shown::message(&format!("In {place}: {}", self.message));
        }
        self
    }

    /// The image uses `what`, a known feature that is not read.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Unsupported, format!("The image uses {what}, which Decant does not read yet"))
    }

    /// `decant-codec` had no memory for a buffer.
    pub(crate) fn no_room(OutOfMemory(bytes): OutOfMemory) -> Self {
        Self::out_of_memory(bytes)
    }

    /// There was no memory for a buffer of `bytes` bytes.
    pub fn out_of_memory(bytes: usize) -> Self {
        Self::new(
            ErrorKind::Internal,
            format!("There was not enough memory for a buffer of {bytes} bytes; close other tabs or use fewer workers"),
        )
        .coded("out-of-memory")
        .field("size", bytes as u64)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        *error.0
    }
}

impl Deref for Error {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Failure {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
