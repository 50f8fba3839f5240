//! Kinds of damage to a part of an image. Damage fails a conversion; a salvage records the range as lost and continues.

use super::Error;
use crate::offsets::HostOffset;
use serde::{Serialize, Serializer};

/// The reason why a range of the disk cannot be read. Each format declares its own kinds; only those of
/// [`crate::compress::decoding_damage`] are sent between workers.
#[derive(Clone, Copy, Debug)]
pub struct Damage(&'static DamageKind);

/// The description of a kind of damage.
#[derive(Debug)]
pub(crate) struct DamageKind {
    /// The code for programs, unique among all formats.
    pub(crate) code: &'static str,
    /// What is wrong: a clause, without a full stop.
    pub(crate) reason: &'static str,
    /// For truncation: the missing structure.
    pub(crate) lacks: Option<&'static str>,
}

impl Damage {
    pub(crate) const fn new(kind: &'static DamageKind) -> Self {
        Self(kind)
    }

    pub(crate) fn code(self) -> &'static str {
        self.0.code
    }

    /// What is wrong: a clause, without a full stop.
    pub fn reason(self) -> &'static str {
        self.0.reason
    }

    /// Converts the damage to an error of kind `corrupt`, at `offset` of a file of `size` bytes.
    pub(crate) fn error(self, offset: HostOffset, size: u64) -> Error {
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

/// Declares kinds of damage: name, code, reason and, for truncation, the missing structure.
macro_rules! damages {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal $(, lacks $lacks:literal)?;)*) => {
        $(
            $(#[$doc])*
            pub const $name: $crate::error::damage::Damage = $crate::error::damage::Damage::new(&$crate::error::damage::DamageKind {
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
