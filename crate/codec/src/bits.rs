//! Deflate (RFC 1951) bit by bit: the lowest bit of a byte comes first (section 3.1.1).

/// Upper bound on the length of a stored block, in bytes.
pub const STORED: usize = 65_535;

/// How many bytes behind the last written one `flush` may overwrite.
pub const SLACK: usize = 8;

/// Writes to a buffer that has room for all output and [`SLACK`] more bytes.
pub struct BitWriter<'a> {
    output: &'a mut [u8],
    /// Whole bytes written.
    at: usize,
    /// Bits that are not written yet, the lowest first. Bits above `count` are zero.
    buffer: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// A writer that begins at the start of `output`.
    pub fn new(output: &'a mut [u8]) -> Self {
        Self { output, at: 0, buffer: 0, count: 0 }
    }

    /// Adds the lowest `count` bits of `bits`; its other bits are zero. At most 56 bits may be added between two flushes.
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

    /// Fills the current byte with zero bits.
    pub fn align(&mut self) {
        self.count = self.count.next_multiple_of(8);
        self.flush();
    }

    /// Writes a stored block (section 3.2.4) of at most [`STORED`] bytes, not marked as the last one. Then the position is
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

    /// Whole bytes written.
    pub fn written(&self) -> usize {
        self.at
    }
}
