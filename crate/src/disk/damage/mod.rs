//! Damage to a part of an image. It fails a conversion; a salvage records the range as lost and continues.

pub mod decoding;
mod losses;

pub use losses::{Losses, LostRanges, MOST_LISTED};

use crate::error::Error;
use crate::offsets::HostOffset;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Deserialize as DeriveDeserialize, Serialize, Serializer};

/// The reason why a range of the disk cannot be read. Each format declares its own kinds; only those of [`decoding`]
/// are sent between workers.
#[derive(Clone, Copy, Debug)]
pub struct Damage(&'static DamageKind);

/// The description of a kind of damage.
#[derive(Debug)]
pub struct DamageKind {
    /// The code for programs, unique among all formats.
    pub code: &'static str,
    /// What is wrong: a clause, without a full stop.
    pub reason: &'static str,
    /// For truncation: the missing structure.
    pub lacks: Option<&'static str>,
}

impl Damage {
    /// Creates a damage of `kind`.
    pub const fn new(kind: &'static DamageKind) -> Self {
        Self(kind)
    }

    /// The code for programs.
    pub fn code(self) -> &'static str {
        self.0.code
    }

    /// What is wrong: a clause, without a full stop.
    pub fn reason(self) -> &'static str {
        self.0.reason
    }

    /// Converts the damage to an error of kind `corrupt`, at `offset` of a file of `size` bytes.
    pub fn error(self, offset: HostOffset, size: u64) -> Error {
        let error = match self.0.lacks {
            Some(what) => Error::truncated(what, offset, size),
            None => Error::corrupt(self.0.reason, offset),
        };
        error.field("damage", self.0.code)
    }
}

impl PartialEq for Damage {
    fn eq(&self, other: &Self) -> bool {
        self.0.code == other.0.code
    }
}

impl Eq for Damage {}

impl Serialize for Damage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.code.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Damage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = <&str>::deserialize(deserializer)?;
        let known = decoding::ALL.iter().find(|damage| damage.code() == code);
        known.copied().ok_or_else(|| D::Error::custom("a damage that is not one of decoding"))
    }
}

/// Declares kinds of damage: name, code, reason and, for truncation, the missing structure.
macro_rules! damages {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal $(, lacks $lacks:literal)?;)*) => {
        $(
            $(#[$doc])*
            pub const $name: $crate::disk::damage::Damage = $crate::disk::damage::Damage::new(&$crate::disk::damage::DamageKind {
                code: $code,
                reason: $reason,
                lacks: damages!(@lacks $($lacks)?),
            });
        )*
    };
    (@lacks) => { None };
    (@lacks $lacks:literal) => { Some($lacks) };
}
pub(crate) use damages;

/// A range of the disk that could not be read and was replaced by zeros. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeriveDeserialize)]
pub struct Lost {
    /// First byte.
    pub start: u64,
    /// Length.
    pub len: u64,
    /// The reason.
    pub damage: Damage,
}

impl Lost {
    /// The guest offset after the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.len
    }
}
