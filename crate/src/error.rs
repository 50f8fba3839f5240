//! The one error type: a kind for programs, one sentence for people.

use crate::units::HostOffset;
use std::fmt;

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, for programs. The names are those of the public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The content is in no format that is known.
    NotRecognised,
    /// A known format or feature that is not read; the message names it.
    Unsupported,
    /// The image contradicts its format, or is truncated.
    Corrupt,
    /// A number beyond what is processed.
    Limit,
    /// The image needs another file, which was not handed over; the message names it and its role.
    MissingFile,
    /// A password is needed, or the one given is wrong.
    Password,
    /// Reading the image failed.
    Source,
    /// Writing the output failed.
    Sink,
    /// The caller cancelled.
    Cancelled,
    /// The caller asked for something that cannot be.
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

/// A failure: its kind and one sentence that a person can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What went wrong, for programs.
    pub kind: ErrorKind,
    /// One sentence, without a full stop at its end.
    pub message: String,
    /// Where in the image's file, in bytes, where that is known.
    pub offset: Option<HostOffset>,
}

impl Error {
    /// An error with no place in a file.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), offset: None }
    }

    /// The image contradicts its format at `offset`.
    pub fn corrupt(what: impl fmt::Display, offset: HostOffset) -> Self {
        Self {
            kind: ErrorKind::Corrupt,
            message: format!("The image is corrupt: {what} (at byte {} of the file)", offset.0),
            offset: Some(offset),
        }
    }

    /// The file of `size` bytes ends before `what`, which lies at `offset`.
    pub fn truncated(what: impl fmt::Display, offset: HostOffset, size: u64) -> Self {
        Self {
            kind: ErrorKind::Corrupt,
            message: format!(
                "The image is truncated: the file ends at byte {size}, but {what} lies at byte {}; \
                 download or copy it again",
                offset.0
            ),
            offset: Some(offset),
        }
    }

    /// The same error, of the companion `name`: its message says so.
    pub fn within(mut self, name: &str) -> Self {
        use ErrorKind::{Corrupt, Limit, NotRecognised, Source, Unsupported};
        if matches!(self.kind, Corrupt | Unsupported | Limit | Source | NotRecognised) {
            self.message = format!("In '{name}': {}", self.message);
        }
        self
    }

    /// A known feature that is not read.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Unsupported, format!("The image uses {what}, which Decant does not read yet"))
    }

    /// There was no memory for a buffer of `bytes` bytes.
    pub fn out_of_memory(bytes: usize) -> Self {
        Self::new(
            ErrorKind::Internal,
            format!("There was not enough memory for a buffer of {bytes} bytes; close other tabs or use fewer workers"),
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
