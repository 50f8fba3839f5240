//! Kinds of damage in VMDK images.

use crate::error::damage::damages;

damages! {
    /// The file ends before or inside the grain directory.
    DIRECTORY_TRUNCATED = "vmdk-directory-truncated", "the file ends before the end of the grain directory", lacks "the grain directory";
    /// A grain directory entry is invalid (SESparse).
    DIRECTORY_ENTRY = "vmdk-directory-entry", "an entry of the grain directory is invalid";
    /// The footer is missing, and no marker describes the grain.
    FOOTER_LOST = "vmdk-footer-lost", "the footer, which says where the grains lie, is lost";
    /// The file ends before or inside a grain table.
    TABLE_TRUNCATED = "vmdk-table-truncated", "the file ends before the end of a grain table", lacks "a grain table";
    /// A grain table entry is invalid (COWD, SESparse).
    TABLE_ENTRY = "vmdk-table-entry", "an entry of a grain table is invalid";
    /// The file ends before or inside a grain.
    GRAIN_TRUNCATED = "vmdk-grain-truncated", "the file ends before the end of a grain", lacks "a grain";
    /// The file of a flat extent is shorter than the descriptor states.
    EXTENT_TRUNCATED = "vmdk-extent-truncated", "the file of an extent ends before the extent does", lacks "a part of the extent";
    /// An extent's header states a smaller size than the descriptor.
    EXTENT_SHORT = "vmdk-extent-short", "an extent is shorter than the descriptor says";
    /// The descriptor states NOACCESS for an extent.
    NO_ACCESS = "vmdk-no-access", "the descriptor allows no access to an extent";
}
