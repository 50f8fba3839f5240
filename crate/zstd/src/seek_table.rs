//! The seek table at the end of a file of frames (the seekable format, 0.1.0): a skippable frame with an entry for each frame,
//! and a footer.

use decant_module::SKIPPABLE_HEADER;

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

/// The seek table of a file that is being written. Frames of the same length and content size that follow one another take
/// memory once.
#[derive(Default)]
pub struct SeekTable {
    entries: Vec<(Entry, u32)>,
    frames: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    len: u32,
    content: u32,
}

impl SeekTable {
    /// Adds `times` frames of `len` bytes, each with `content` bytes of content: at most [`MAX_FRAMES`] in all. Returns
    /// whether there was memory for them.
    pub fn add(&mut self, len: u32, content: u32, times: u32) -> bool {
        let entry = Entry { len, content };
        self.frames += times;
        if let Some((last, count)) = self.entries.last_mut()
            && *last == entry
        {
            *count += times;
            return true;
        }
        if self.entries.try_reserve(1).is_err() {
            return false;
        }
        self.entries.push((entry, times));
        true
    }

    /// Returns the bytes of the table, as pieces that are each repeated a number of times.
    pub fn pieces(self) -> impl Iterator<Item = (Vec<u8>, u64)> {
        let len = u64::from(self.frames) * ENTRY + FOOTER;
        let header = [SEEK_TABLE.to_le_bytes(), (len as u32).to_le_bytes()].concat();
        debug_assert_eq!(header.len(), SKIPPABLE_HEADER);
        let footer = [&self.frames.to_le_bytes()[..], &[0], &SEEKABLE_MAGIC].concat();
        let entries = self.entries.into_iter().map(|(Entry { len, content }, times)| {
            ([len.to_le_bytes(), content.to_le_bytes()].concat(), u64::from(times))
        });
        std::iter::once((header, 1)).chain(entries).chain(std::iter::once((footer, 1)))
    }
}
