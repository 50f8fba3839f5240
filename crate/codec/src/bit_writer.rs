//! Writes deflate (RFC 1951) bit by bit, lowest bit of each byte first (section 3.1.1).

/// Maximum length of a stored block, in bytes.
pub const STORED: usize = 65_535;

/// Number of bytes after the last written one that `flush` may overwrite.
pub const SLACK: usize = 8;

/// Writes to a buffer with room for all output and [`SLACK`] more bytes.
pub struct BitWriter<'a> {
    output: &'a mut [u8],
    /// Number of whole bytes written.
    at: usize,
    /// Bits that are not written yet, lowest first. Bits from `count` on are zero.
    buffer: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Creates a writer to the start of `output`.
    pub fn new(output: &'a mut [u8]) -> Self {
        Self { output, at: 0, buffer: 0, count: 0 }
    }

    /// Adds the lowest `count` bits of `bits`; its other bits must be zero. At most 56 bits may be added between two
    /// flushes.
    #[inline(always)]
    pub fn add(&mut self, bits: u64, count: u32) {
        self.buffer |= bits << self.count;
        self.count += count;
    }

    /// Writes all whole bytes. Fewer than 8 bits remain.
    #[inline(always)]
    pub fn flush(&mut self) {
        self.output[self.at..self.at + 8].copy_from_slice(&self.buffer.to_le_bytes());
        self.at += (self.count >> 3) as usize;
        self.buffer >>= self.count & !7;
        self.count &= 7;
    }

    /// Pads the current byte with zero bits.
    pub fn align(&mut self) {
        self.count = self.count.next_multiple_of(8);
        self.flush();
    }

    /// Writes a stored block (section 3.2.4) of at most [`STORED`] bytes, not marked as the last. Leaves the position
    /// aligned. An empty block is a sync point.
    pub fn stored(&mut self, bytes: &[u8]) {
        let len = bytes.len() as u16;
        self.add(0, 3);
        self.align();
        self.bytes(&len.to_le_bytes());
        self.bytes(&(!len).to_le_bytes());
        self.bytes(bytes);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.output[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Returns the number of whole bytes written.
    pub fn written(&self) -> usize {
        self.at
    }
}
