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
    /// For truncation: the damage instead, if the structure is so far away that no truncation explains it.
    pub(crate) outside: Option<Damage>,
}

/// The room for internal snapshots and saved states of a virtual machine, in bytes.
const SNAPSHOTS: u64 = 1 << 40;
/// How many times as large as the disk and the present part of the file a complete file is at most, without snapshots.
const LARGEST: u64 = 4;

/// The last position that the complete file of a disk of `disk_size` bytes can have, with a wide margin. `file_size` is
/// the size of the file, which may be truncated.
pub(crate) fn farthest(disk_size: u64, file_size: u64) -> HostOffset {
    HostOffset(disk_size.saturating_add(file_size).saturating_mul(LARGEST).saturating_add(SNAPSHOTS))
}

/// Checks `place`, the position that an image of a disk of `disk_size` bytes states for `what` in its file, which has
/// `file_size` bytes. Fails with `corrupt` if no truncation explains it: see [`farthest`].
pub(crate) fn ensure_possible(what: &str, place: HostOffset, disk_size: u64, file_size: u64) -> super::Result<()> {
    if place > farthest(disk_size, file_size) {
        return Err(Error::impossible_position(what, place));
    }
    Ok(())
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

    /// The damage of a structure at `place` of a file that can reach to `farthest`.
    #[must_use]
    pub(crate) fn at(self, place: HostOffset, farthest: HostOffset) -> Self {
        self.0.outside.filter(|_| place > farthest).unwrap_or(self)
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

/// Declares kinds of damage: name, code, reason and, for truncation, the missing structure and the damage if it is too
/// far away.
macro_rules! damages {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal
        $(, lacks $lacks:literal)? $(, outside $outside:ident)?;)*) => {
        $(
            $(#[$doc])*
            pub const $name: $crate::error::damage::Damage = $crate::error::damage::Damage::new(&$crate::error::damage::DamageKind {
                code: $code,
                reason: $reason,
                lacks: damages!(@option $($lacks)?),
                outside: damages!(@option $($outside)?),
            });
        )*
    };
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
}
pub(crate) use damages;

#[cfg(test)]
mod tests {
    use super::*;

    damages! {
        CUT = "cut", "the file ends", lacks "it", outside FAR;
        FAR = "far", "it is far away";
    }

    #[test]
    fn only_a_position_that_no_truncation_explains_is_far_away() {
        const GIB: u64 = 1 << 30;
        const TIB: u64 = 1 << 40;
        let rows = [
            ("an empty file", 0, 0, 0, CUT),
            ("the end of a preallocated disk", 8 * TIB + GIB, 8 * TIB, 0, CUT),
            ("a small disk with many snapshots", 900 * GIB, GIB, 0, CUT),
            ("a large disk with many snapshots", 30 * TIB, 8 * TIB, 0, CUT),
            ("a large file that is nearly complete", 30 * TIB, GIB, 20 * TIB, CUT),
            ("a small disk", 2 * TIB, GIB, GIB, FAR),
            ("a large disk", 34 * TIB, 8 * TIB, 0, FAR),
            ("the largest position", u64::MAX, (1 << 53) - 1, 1 << 53, FAR),
        ];
        for (what, place, disk, file, expected) in rows {
            assert_eq!(CUT.at(HostOffset(place), farthest(disk, file)), expected, "{what}");
            assert_eq!(FAR.at(HostOffset(place), farthest(disk, file)), FAR, "{what}");
        }
    }
}
