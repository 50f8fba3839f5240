//! Names the file that an error occurred in.

use super::shown::shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The file that an error occurred in, if it is not the one that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// A companion, by its name.
    File(String),
    /// A member of a container, by its name.
    Member(String),
    /// The content of a container, by the name of the container: its member has no name.
    Content(String),
}

impl Place {
    pub(crate) fn file(name: &str) -> Self {
        Self::File(name.to_owned())
    }

    /// Whether the file is in a container.
    pub(super) fn is_in_container(&self) -> bool {
        matches!(self, Self::Member(_) | Self::Content(_))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) | Self::Member(name) => write!(f, "'{}'", shown(name)),
            Self::Content(container) => write!(f, "the content of the {} file", shown(container)),
        }
    }
}
