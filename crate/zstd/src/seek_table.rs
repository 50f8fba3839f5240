//! The seek table at the end of a file of frames (the seekable format, 0.1.0): a skippable frame with an entry for each frame,
//! and a footer.

use decant_module::{BlockSizes, SKIPPABLE_HEADER};

/// The magic number of a skippable frame with a seek table.
pub(crate) const SEEK_TABLE: u32 = 0x184d_2a5e;
/// The last bytes of the footer.
pub(crate) const SEEKABLE_MAGIC: [u8; 4] = [0xb1, 0xea, 0x92, 0x8f];
/// Length of the footer, in bytes.
pub(crate) const FOOTER: u64 = 9;
/// Bits of the descriptor in the footer: entries have checksums. The lowest two are unused.
#[cfg_attr(not(feature = "direct"), expect(dead_code, reason = "tables are read in the module"))]
pub(crate) const WITH_CHECKSUMS: u8 = 0x80;
#[cfg_attr(not(feature = "direct"), expect(dead_code, reason = "tables are read in the module"))]
pub(crate) const RESERVED: u8 = 0x7c;
/// Length of an entry without a checksum, in bytes.
const ENTRY: u64 = 8;

/// The maximum number of frames in a table: its length in the header of the skippable frame has 32 bits.
pub const MAX_FRAMES: u64 = (u32::MAX as u64 - FOOTER) / ENTRY;

/// The seek table of a file that is being written.
#[derive(Default)]
pub struct SeekTable(BlockSizes);

impl SeekTable {
    /// Adds `times` frames of `len` bytes, each with `content` bytes of content: at most [`MAX_FRAMES`] in all. Returns
    /// whether there was memory for them.
    pub fn add(&mut self, len: u32, content: u32, times: u32) -> bool {
        self.0.add(len, content, times)
    }

    /// Returns the bytes of the table, as pieces that are each repeated a number of times.
    pub fn pieces(self) -> Vec<(Vec<u8>, u64)> {
        let frames = self.0.count();
        let len = frames * ENTRY + FOOTER;
        let header = [SEEK_TABLE.to_le_bytes(), (len as u32).to_le_bytes()].concat();
        debug_assert_eq!(header.len(), SKIPPABLE_HEADER);
        let footer = [&(frames as u32).to_le_bytes()[..], &[0], &SEEKABLE_MAGIC].concat();
        let entries = self.0.entries(|len, content, bytes| {
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(&content.to_le_bytes());
        });
        [vec![(header, 1)], entries, vec![(footer, 1)]].concat()
    }
}
